//! How things stand at the API server, and the writes that change it.
//!
//! Several controllers may do this at once. Each write goes through only if the object still is as it was read; and what trusts is read
//! before what is to be trusted. So of two that decide differently one fails, reads anew, and finds what the other has done.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DynamicObject, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client};

use super::args::Args;
use super::authority::{self, Authority};
use super::certificate::{Certificate, pem_of};
use super::plan::{Authorities, State};
use super::record::{self, Data};
use super::target::{Kind, Target};
use crate::names::CERTIFICATES_FIELD_MANAGER;

/// Why the certificates cannot be looked after, this time.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// An object cannot be read.
    #[error("cannot read {what}")]
    Read {
        what: String,
        #[source]
        source: kube::Error,
    },
    /// An object cannot be written.
    #[error("cannot write {what}")]
    Write {
        what: String,
        #[source]
        source: kube::Error,
    },
    /// A certificate cannot be made.
    #[error(transparent)]
    Authority(#[from] authority::Error),
}

impl Error {
    /// Whether the object has changed since it was read, most likely by another controller's hand.
    pub(super) fn is_conflict(&self) -> bool {
        match self {
            Self::Write { source, .. } => {
                matches!(source, kube::Error::Api(status) if status.code == 409)
            }
            Self::Read { .. } | Self::Authority(_) => false,
        }
    }
}

/// Everything that was read.
pub(super) struct Seen {
    pub(super) targets: Vec<Target>,
    pub(super) record: Option<Secret>,
    pub(super) serving: Option<Secret>,
}

/// The API server, as far as certificates are concerned.
pub(super) struct Store {
    client: Client,
    secrets: Api<Secret>,
    args: Args,
}

impl Store {
    pub(super) fn new(client: Client, args: Args) -> Self {
        let secrets = Api::namespaced(client.clone(), &args.certs_namespace);
        Self {
            client,
            secrets,
            args,
        }
    }

    /// Reads everything; what does not exist is left out.
    pub(super) async fn read(&self) -> Result<Seen, Error> {
        // The order matters: see above.
        let mut targets = Vec::new();
        for kind in Kind::ALL {
            let read = self.targets(kind).get_opt(kind.name()).await;
            let object = read.map_err(|source| Error::Read {
                what: describe(kind),
                source,
            })?;
            targets.extend(object.map(|object| Target { kind, object }));
        }
        Ok(Seen {
            targets,
            record: self.secret(&self.args.certs_ca_secret).await?,
            serving: self.secret(&self.args.certs_serving_secret).await?,
        })
    }

    /// Makes a new authority, and puts it on record before `older`.
    pub(super) async fn add(&self, seen: &Seen, older: &[Certificate]) -> Result<(), Error> {
        let authority = Authority::new(Timestamp::now(), self.args.certs_ca_validity)?;
        self.record(seen, &authority, older).await
    }

    /// Puts `older` on record beside the newest authority.
    pub(super) async fn keep(&self, seen: &Seen, older: &[Certificate]) -> Result<(), Error> {
        self.record(seen, &newest(seen)?, older).await
    }

    async fn record(
        &self,
        seen: &Seen,
        newest: &Authority,
        older: &[Certificate],
    ) -> Result<(), Error> {
        let data = record::of_authorities(newest, older);
        self.write(&self.args.certs_ca_secret, seen.record.as_ref(), data)
            .await
    }

    /// Issues the server a certificate from the newest authority.
    pub(super) async fn issue(&self, seen: &Seen) -> Result<(), Error> {
        let pair = newest(seen)?.issue(
            &self.args.names(),
            Timestamp::now(),
            self.args.certs_serving_validity,
        )?;
        let data = record::of_serving(pair);
        self.write(&self.args.certs_serving_secret, seen.serving.as_ref(), data)
            .await
    }

    /// Puts `authorities` into every `caBundle` that does not hold exactly them.
    pub(super) async fn publish(
        &self,
        seen: &Seen,
        authorities: &[Certificate],
    ) -> Result<(), Error> {
        let bundle = pem_of(authorities);
        let params = PatchParams::apply(CERTIFICATES_FIELD_MANAGER).force();
        for target in &seen.targets {
            if target.bundles().all(|bundle| bundle == authorities) {
                continue;
            }
            self.targets(target.kind)
                .patch(
                    target.kind.name(),
                    &params,
                    &Patch::Apply(target.patch(&bundle)),
                )
                .await
                .map_err(|source| Error::Write {
                    what: describe(target.kind),
                    source,
                })?;
        }
        Ok(())
    }

    fn targets(&self, kind: Kind) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &kind.resource())
    }

    async fn secret(&self, name: &str) -> Result<Option<Secret>, Error> {
        let read = self.secrets.get_opt(name).await;
        read.map_err(|source| Error::Read {
            what: self.describe_secret(name),
            source,
        })
    }

    async fn write(&self, name: &str, read: Option<&Secret>, data: Data) -> Result<(), Error> {
        let params = PostParams {
            field_manager: Some(CERTIFICATES_FIELD_MANAGER.into()),
            ..PostParams::default()
        };
        let written = match read {
            Some(read) => {
                let mut secret = read.clone();
                secret.data.get_or_insert_default().extend(data);
                self.secrets.replace(name, &params, &secret).await
            }
            None => {
                let secret = Secret {
                    metadata: ObjectMeta {
                        name: Some(name.to_owned()),
                        ..ObjectMeta::default()
                    },
                    type_: Some(record::TYPE.into()),
                    data: Some(data),
                    ..Secret::default()
                };
                self.secrets.create(&params, &secret).await
            }
        };
        written.map(drop).map_err(|source| Error::Write {
            what: self.describe_secret(name),
            source,
        })
    }

    fn describe_secret(&self, name: &str) -> String {
        format!("the Secret {}/{name}", self.args.certs_namespace)
    }

    /// What was read, as the plan needs it. What cert-manager looks after is not looked at.
    pub(super) fn state(&self, seen: &Seen) -> State {
        let mut state = State {
            is_cert_managers: seen.is_cert_managers(),
            authorities: None,
            serving: None,
            bundles: seen.targets.iter().flat_map(Target::bundles).collect(),
            shown_for: Duration::ZERO,
        };
        if state.is_cert_managers {
            return state;
        }
        state.authorities = seen.record.as_ref().and_then(|secret| {
            record::authorities(secret)
                .inspect_err(|error| unreadable(&self.args.certs_ca_secret, error))
                .ok()
        });
        let known: Vec<_> = state
            .authorities
            .iter()
            .flat_map(Authorities::all)
            .collect();
        state.serving = seen.serving.as_ref().and_then(|secret| {
            let known = known.iter().chain(state.bundles.iter().flatten());
            record::serving(secret, &self.args.names(), known)
                .inspect_err(|error| unreadable(&self.args.certs_serving_secret, error))
                .ok()
        });
        state
    }
}

impl Seen {
    fn is_cert_managers(&self) -> bool {
        let mut secrets = [&self.record, &self.serving].into_iter().flatten();
        self.targets.iter().any(Target::is_cert_managers) || secrets.any(record::is_cert_managers)
    }
}

fn newest(seen: &Seen) -> Result<Authority, Error> {
    let record = seen.record.as_ref().ok_or(authority::Error::Empty)?;
    Ok(record::newest(record)?)
}

fn unreadable(name: &str, error: &authority::Error) {
    tracing::warn!(
        error = error as &dyn std::error::Error,
        "the Secret {name} holds no certificate that can be used, and is filled anew"
    );
}

fn describe(kind: Kind) -> String {
    format!("the {} {}", kind.resource().kind, kind.name())
}
