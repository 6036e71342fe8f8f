//! The options of the server for callbacks.

use std::{net::SocketAddr, path::PathBuf};

use reqwest::Url;

/// The options of the server for callbacks.
#[derive(Clone, Debug, clap::Args)]
#[group(id = "callbacks")]
pub struct Args {
    /// The folder with the certificate of the server for callbacks, `tls.crt` and `tls.key`; it is looked at again every few seconds.
    /// Without it there is no such server.
    #[arg(long, env = "TASK_CALLBACK_CERT_DIR")]
    callback_cert_dir: Option<PathBuf>,

    /// The address at which callbacks are taken.
    #[arg(long, default_value = "0.0.0.0:9444")]
    pub callback_bind: SocketAddr,

    /// The https URL under which providers reach that address. It is told to those that are to call back, with /callbacks/<namespace>/<name> after
    /// it; without it none is.
    #[arg(long, env = "TASK_CALLBACK_URL", value_parser = url)]
    callback_url: Option<String>,
}

impl Args {
    /// The folder of the certificate, if there is to be a server. Empty is the same as not given.
    #[must_use]
    pub fn cert_dir(&self) -> Option<&PathBuf> {
        let folder = self.callback_cert_dir.as_ref();
        folder.filter(|folder| !folder.as_os_str().is_empty())
    }

    /// The URL that providers are told. Empty is the same as not given.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        self.callback_url.as_deref().filter(|url| !url.is_empty())
    }
}

/// A URL that a path can be put after.
fn url(text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Ok(String::new());
    }
    let url = Url::parse(text).map_err(|error| error.to_string())?;
    if url.scheme() != "https" {
        return Err("it must begin with https://".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("it must have neither a query nor a fragment".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it must hold no credentials".to_owned());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_one_that_a_path_can_be_put_after() {
        for good in ["", "https://tasks.example", "https://tasks.example/a/"] {
            assert_eq!(url(good).as_deref(), Ok(good));
        }
        for bad in [
            "tasks.example",
            "http://tasks.example",
            "https://tasks.example/?a",
            "https://me:secret@tasks.example",
        ] {
            assert!(url(bad).is_err(), "{bad}");
        }
    }
}
