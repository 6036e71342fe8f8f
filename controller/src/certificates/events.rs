//! What people see of a rotation: Events on the Secret of the authority.

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};

use super::args::Args;
use crate::names::CERTIFICATES_FIELD_MANAGER;

/// Publishes Events.
pub(super) struct Events {
    recorder: Recorder,
    secret: ObjectReference,
}

impl Events {
    pub(super) fn new(client: Client, args: &Args) -> Self {
        let reporter = Reporter {
            controller: CERTIFICATES_FIELD_MANAGER.into(),
            instance: None,
        };
        Self {
            recorder: Recorder::new(client, reporter),
            secret: ObjectReference {
                api_version: Some("v1".into()),
                kind: Some("Secret".into()),
                namespace: Some(args.certs_namespace.clone()),
                name: Some(args.certs_ca_secret.clone()),
                ..ObjectReference::default()
            },
        }
    }

    /// Tells of a step that was done. That nobody can be told is no reason not to go on.
    pub(super) async fn done(&self, reason: &str, note: &str) {
        self.publish(EventType::Normal, reason, note).await;
    }

    /// Tells of a step that failed.
    pub(super) async fn failed(&self, note: &str) {
        self.publish(EventType::Warning, "CertificatesFailed", note)
            .await;
    }

    async fn publish(&self, type_: EventType, reason: &str, note: &str) {
        let event = Event {
            type_,
            reason: reason.into(),
            // The API server refuses a longer one.
            note: Some(note.chars().take(250).collect()),
            action: "KeepCertificates".into(),
            secondary: None,
        };
        if let Err(error) = self.recorder.publish(&event, &self.secret).await {
            tracing::debug!(
                error = &error as &dyn std::error::Error,
                "an Event was lost"
            );
        }
    }
}
