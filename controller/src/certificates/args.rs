//! The options of the certificates.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use jiff::SignedDuration;
use task_crds::{CONVERSION_SERVICE, NAMESPACE};

use super::plan::Delays;

/// The options of the webhooks' certificates.
#[derive(Clone, Debug, clap::Args)]
#[group(id = "certificates")]
#[command(next_help_heading = "Certificates")]
pub struct Args {
    /// Make and renew the certificates of the webhooks, and tell the API server whom to trust. What cert-manager looks after
    /// (annotation cert-manager.io/inject-ca-from on the CustomResourceDefinition or a webhook's registration) is left alone.
    #[arg(long, env = "TASK_SELF_MANAGED_CERTS")]
    pub self_managed_certs: bool,

    /// The namespace of the webhooks' Service and of both Secrets.
    #[arg(long, env = "TASK_CERTS_NAMESPACE", default_value = NAMESPACE)]
    pub certs_namespace: String,

    /// The Service by which the API server reaches the webhooks.
    #[arg(long, env = "TASK_CERTS_SERVICE", default_value = CONVERSION_SERVICE)]
    pub certs_service: String,

    /// A further DNS name or IP address by which the webhooks are reached. May be given several times.
    #[arg(long = "certs-name", value_name = "NAME", value_parser = server_name)]
    pub certs_names: Vec<String>,

    /// The Secret of the authority. Only the controller needs it.
    #[arg(
        long,
        env = "TASK_CERTS_CA_SECRET",
        default_value = "task-conversion-ca"
    )]
    pub certs_ca_secret: String,

    /// The Secret of the serving certificate, which task-conversion has mounted as its --cert-dir.
    #[arg(
        long,
        env = "TASK_CERTS_SERVING_SECRET",
        default_value = "task-conversion-tls"
    )]
    pub certs_serving_secret: String,

    /// For how long an authority is good. It is replaced after two thirds of that.
    #[arg(long, env = "TASK_CERTS_CA_VALIDITY", default_value = "43800h", value_parser = duration)]
    pub certs_ca_validity: Duration,

    /// For how long a serving certificate is good. It is replaced after two thirds of that.
    #[arg(long, env = "TASK_CERTS_SERVING_VALIDITY", default_value = "2160h", value_parser = duration)]
    pub certs_serving_validity: Duration,

    /// How long API servers may take to go by a new caBundle. A request that began before is answered within a minute.
    #[arg(long, env = "TASK_CERTS_TRUST_DELAY", default_value = "2m", value_parser = duration)]
    pub certs_trust_delay: Duration,

    /// How long task-conversion may take to serve a new certificate: kubelet takes up to two minutes to write it. Until
    /// then an authority that signs no more stays trusted.
    #[arg(long, env = "TASK_CERTS_SERVE_DELAY", default_value = "24h", value_parser = duration)]
    pub certs_serve_delay: Duration,

    /// How often it is looked whether all is as it should be.
    #[arg(long, env = "TASK_CERTS_INTERVAL", default_value = "10s", value_parser = duration)]
    pub certs_interval: Duration,
}

/// Options that are each right, but not together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "--certs-ca-validity and --certs-serving-validity must be three times as long as --certs-trust-delay and --certs-serve-delay \
     together: a certificate is replaced when a third of its time is left, and the delays must pass within that"
)]
pub struct TooShort;

impl Args {
    /// Checks that there is time for a certificate to be replaced before it expires.
    ///
    /// # Errors
    /// When there is not.
    pub fn check(&self) -> Result<(), TooShort> {
        let delays = self.certs_trust_delay.checked_add(self.certs_serve_delay);
        let needed = delays.and_then(|delays| delays.checked_mul(3));
        let shortest = self.certs_ca_validity.min(self.certs_serving_validity);
        match needed {
            Some(needed) if needed <= shortest => Ok(()),
            _ => Err(TooShort),
        }
    }

    /// How long things take.
    pub(super) fn delays(&self) -> Delays {
        Delays {
            trust: self.certs_trust_delay,
            serve: self.certs_serve_delay,
        }
    }

    /// The names that the server is reached by. The API server uses the second, people and Pods may use any.
    pub(super) fn names(&self) -> BTreeSet<String> {
        let Self {
            certs_service: service,
            certs_namespace: namespace,
            ..
        } = self;
        let forms = [
            format!("{service}.{namespace}"),
            format!("{service}.{namespace}.svc"),
            format!("{service}.{namespace}.svc.cluster.local"),
        ];
        forms
            .into_iter()
            .chain(self.certs_names.iter().cloned())
            .collect()
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let duration: SignedDuration = text.parse().map_err(|error| format!("{error}"))?;
    match Duration::try_from(duration) {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        _ => Err("must be more than nothing".to_owned()),
    }
}

/// An IP address is written as certificates have it, so that it is found again in one.
fn server_name(text: &str) -> Result<String, String> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok(address.to_string());
    }
    let is_of_dns = |c: char| c.is_ascii_alphanumeric() || "-.*".contains(c);
    if text.is_empty() || !text.chars().all(is_of_dns) {
        return Err("neither a DNS name nor an IP address".to_owned());
    }
    Ok(text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        args: super::Args,
    }

    fn parse(more: &[&str]) -> Result<super::Args, clap::Error> {
        Command::try_parse_from(["command"].iter().chain(more)).map(|command| command.args)
    }

    #[test]
    fn the_defaults_go_together() {
        assert_eq!(parse(&[]).unwrap().check(), Ok(()));
    }

    #[test]
    fn a_certificate_that_expires_while_it_is_replaced_is_refused() {
        for (validity, is_enough) in [("72h6m", true), ("72h5m", false)] {
            let args = parse(&["--certs-serving-validity", validity]).unwrap();
            assert_eq!(args.check().is_ok(), is_enough, "{validity}");
        }
    }

    #[test]
    fn the_server_is_reached_by_each_form_of_its_service_s_name_and_by_further_ones() {
        let more = [
            "--certs-service=hooks",
            "--certs-namespace=ops",
            "--certs-name=0:0::1",
            "--certs-name=Example.org",
        ];
        let names = parse(&more).unwrap().names();
        let expected = [
            "::1",
            "example.org",
            "hooks.ops",
            "hooks.ops.svc",
            "hooks.ops.svc.cluster.local",
        ];
        assert_eq!(names.iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_is_no_name_and_no_time_is_refused() {
        for bad in [
            "--certs-name=a b",
            "--certs-name=",
            "--certs-interval=0s",
            "--certs-interval=-1s",
        ] {
            assert!(parse(&[bad]).is_err(), "{bad}");
        }
    }
}
