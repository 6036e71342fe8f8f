//! What the provider has been asked for, and how it stands.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use operation_signals::nats::Context;
use serde_json::{Value, json};

use crate::{
    callbacks::Caller,
    script::{Callbacks, Fault, Outcome, Script},
};

/// The kinds of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// To start an operation.
    Start,
    /// To ask about one.
    Poll,
    /// To cancel one.
    Cancel,
}

/// An operation that was asked for at least once, whether it was accepted or not.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The idempotency key of the calls for it.
    pub key: String,
    /// The `Operation-Id`, which is its id too.
    pub id: String,
    /// The uid of its Task.
    pub uid: String,
    /// The name of its Task.
    pub name: String,
    /// The namespace of its Task.
    pub namespace: String,
    /// The body of the first call.
    pub body: Value,
    /// How many calls there were to start it.
    pub starts: u32,
    /// When it was accepted.
    pub accepted_at: Option<Instant>,
    /// Whether it was cancelled before its end.
    pub is_canceled: bool,
    script: Script,
    faults_met: HashMap<Kind, usize>,
}

/// Why a call to start an operation is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The key stands for another request.
    OtherRequest,
    /// The body is not what the protocol says.
    BadBody,
}

/// All operations, by their keys.
#[derive(Default)]
pub struct Ledger {
    operations: HashMap<String, Operation>,
    /// How many calls there were.
    pub calls: u64,
    /// What goes wrong with each call, whatever it is for.
    pub trouble: Option<Fault>,
    /// Who tells the operator how operations stand.
    pub caller: Option<Caller>,
    /// Where events are published.
    pub queue: Option<Context>,
}

impl Ledger {
    /// Notes a call to start an operation; nothing is accepted yet.
    pub fn asked(&mut self, key: &str, id: &str, body: &Value) -> Result<&mut Operation, Refusal> {
        let text = |field: &str| body["task"][field].as_str().map(str::to_owned);
        let [uid, name, namespace] = ["uid", "name", "namespace"].map(text);
        let (Some(uid), Some(name), Some(namespace)) = (uid, name, namespace) else {
            return Err(Refusal::BadBody);
        };
        let operation = self
            .operations
            .entry(key.to_owned())
            .or_insert_with(|| Operation {
                key: key.to_owned(),
                id: id.to_owned(),
                uid,
                name,
                namespace,
                script: serde_json::from_value(body["parameters"].clone()).unwrap_or_default(),
                body: body.clone(),
                starts: 0,
                accepted_at: None,
                is_canceled: false,
                faults_met: HashMap::new(),
            });
        operation.starts += 1;
        if operation.body != *body || operation.id != id {
            return Err(Refusal::OtherRequest);
        }
        Ok(operation)
    }

    /// The operation of this id, if it was ever asked for.
    pub fn find(&mut self, id: &str) -> Option<&mut Operation> {
        self.operations
            .values_mut()
            .find(|operation| operation.id == id)
    }

    /// The operations that were accepted.
    pub fn accepted(&self) -> Vec<Operation> {
        let accepted = self
            .operations
            .values()
            .filter(|operation| operation.accepted_at.is_some());
        accepted.cloned().collect()
    }

    /// Forgets every operation.
    pub fn forget(&mut self) {
        self.operations.clear();
    }
}

impl Operation {
    /// What goes wrong with this call.
    pub fn fault(&mut self, kind: Kind) -> Option<Fault> {
        let faults = match kind {
            Kind::Start => &self.script.faults.start,
            Kind::Poll => &self.script.faults.poll,
            Kind::Cancel => &self.script.faults.cancel,
        };
        let met = self.faults_met.entry(kind).or_default();
        let fault = faults.get(*met).cloned();
        *met += 1;
        fault
    }

    /// It is accepted; gives whether it was not before.
    pub fn accept(&mut self) -> bool {
        let is_new = self.accepted_at.is_none();
        self.accepted_at.get_or_insert_with(Instant::now);
        is_new
    }

    /// It is cancelled, if it has not ended; gives whether it is now by this.
    pub fn cancel(&mut self) -> bool {
        let runs = self.status() == "Running";
        self.is_canceled |= runs;
        runs
    }

    /// Where the operator wants to be told of it.
    #[must_use]
    pub fn callback_url(&self) -> Option<String> {
        self.body["callbackUrl"].as_str().map(str::to_owned)
    }

    /// How its end is told.
    pub(crate) fn callbacks(&self) -> Callbacks {
        self.script.callbacks
    }

    /// Whether its end is published.
    pub(crate) fn has_events(&self) -> bool {
        self.script.events
    }

    /// How long it runs.
    pub(crate) fn takes(&self) -> Duration {
        Duration::try_from_secs_f64(self.script.seconds).unwrap_or_default()
    }

    /// How it stands, as the protocol has it.
    #[must_use]
    pub fn stands(&self) -> Value {
        let status = self.status();
        let mut stands = json!({
            "id": self.id,
            "status": status,
            "url": format!("https://simulator.example/operations/{}", self.id),
        });
        match status {
            "Succeeded" => stands["result"] = json!(format!("made for {}", self.name)),
            "Failed" => stands["error"] = json!({"code": "Simulated", "message": "it was to fail"}),
            _ => {}
        }
        stands
    }

    /// Its status, in the words of the protocol.
    pub fn status(&self) -> &'static str {
        let Some(at) = self.accepted_at else {
            return "NotStarted";
        };
        if self.is_canceled {
            return "Canceled";
        }
        if at.elapsed() < self.takes() {
            return "Running";
        }
        match self.script.outcome {
            Outcome::Succeeded => "Succeeded",
            Outcome::Failed => "Failed",
            Outcome::Canceled => "Canceled",
            Outcome::Never => "Running",
        }
    }
}
