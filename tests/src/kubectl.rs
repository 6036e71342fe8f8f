//! The real kubectl, in one namespace.

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, sleep};

use crate::Operator;

const POLL: Duration = Duration::from_millis(200);

/// How long [`Kubectl::until`] waits.
const DEADLINE: Duration = Duration::from_secs(90);

/// kubectl against an [`Operator`]'s control plane, in a namespace of its own.
#[derive(Clone, Copy)]
pub struct Kubectl<'o> {
    operator: &'o Operator,
    namespace: &'o str,
}

/// How a kubectl command ended.
#[derive(Debug)]
pub struct Outcome {
    /// Whether it exited with 0.
    pub success: bool,
    /// What it wrote to its standard output.
    pub stdout: String,
    /// What it wrote to its standard error: warnings and errors.
    pub stderr: String,
}

impl<'o> Kubectl<'o> {
    /// kubectl in `namespace`, which is created if it is not there.
    pub async fn in_namespace(operator: &'o Operator, namespace: &'o str) -> Self {
        let kubectl = Self {
            operator,
            namespace,
        };
        kubectl.run(&["create", "namespace", namespace]).await;
        kubectl
    }

    /// Runs kubectl with `args`.
    pub async fn run(&self, args: &[&str]) -> Outcome {
        self.run_with(args, "").await
    }

    /// Runs kubectl with `args` and `input` on its standard input.
    pub async fn run_with(&self, args: &[&str], input: &str) -> Outcome {
        let mut command = self.operator.control_plane().kubectl();
        command.arg("--namespace").arg(self.namespace).args(args);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let ended = async {
            let mut child = command.spawn()?;
            if let Some(mut stdin) = child.stdin.take() {
                stdin.write_all(input.as_bytes()).await?;
            }
            child.wait_with_output().await
        };
        match ended.await {
            Ok(output) => Outcome {
                success: output.status.success(),
                stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
                stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            },
            Err(error) => Outcome {
                success: false,
                stdout: String::new(),
                stderr: format!("cannot run kubectl: {error}"),
            },
        }
    }

    /// Runs kubectl with `args`, which must succeed, and gives its standard output.
    pub async fn ok(&self, args: &[&str]) -> String {
        self.ok_with(args, "").await
    }

    /// Runs kubectl with `args` and `input`, which must succeed, and gives its standard output.
    pub async fn ok_with(&self, args: &[&str], input: &str) -> String {
        let outcome = self.run_with(args, input).await;
        assert!(
            outcome.success,
            "kubectl {args:?} failed: {}\n{}",
            outcome.stderr,
            self.state().await
        );
        outcome.stdout
    }

    /// The object `name` of `resource`, or `null` where there is none.
    pub async fn get(&self, resource: &str, name: &str) -> Value {
        let outcome = self.run(&["get", resource, name, "--output=json"]).await;
        serde_json::from_str(&outcome.stdout).unwrap_or(Value::Null)
    }

    /// The object once `holds` says yes of it. `null` stands for one that does not exist.
    ///
    /// # Panics
    /// When that does not happen in time; the message tells how things stand.
    pub async fn until(&self, resource: &str, name: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let object = self.get(resource, name).await;
            if holds(&object) {
                return object;
            }
            let state = if Instant::now() < deadline {
                None
            } else {
                Some(self.state().await)
            };
            assert!(
                state.is_none(),
                "{resource} {name} is still {object:#}\n{}",
                state.unwrap_or_default()
            );
            sleep(POLL).await;
        }
    }

    /// The reasons of the Events about the object of this uid, in the order in which they were published; one that was repeated, as
    /// often.
    ///
    /// # Panics
    /// When they cannot be listed.
    pub async fn events(&self, uid: &str) -> Vec<String> {
        let list = self
            .ok(&["get", "events.events.k8s.io", "--output=json"])
            .await;
        let list: Value = serde_json::from_str(&list).unwrap_or_default();
        let mut events: Vec<_> = list["items"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|event| event["regarding"]["uid"] == uid)
            .collect();
        events.sort_by_key(|event| event["eventTime"].as_str());
        events
            .into_iter()
            .flat_map(|event| {
                let times = event["series"]["count"].as_u64().unwrap_or(1);
                (0..times).map(|_| event["reason"].as_str().unwrap_or_default().to_owned())
            })
            .collect()
    }

    /// Waits until these are the reasons of the Events about the object of this uid.
    ///
    /// # Panics
    /// When that does not happen in time.
    pub async fn until_events(&self, uid: &str, expected: &[&str]) {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let events = self.events(uid).await;
            if events == expected {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "{events:?} were told\n{}",
                self.state().await
            );
            sleep(POLL).await;
        }
    }

    /// What a person would look at when a test has failed.
    async fn state(&self) -> String {
        let all = self
            .run(&[
                "get",
                "tasks.v1.task.example.io,deployments,services,configmaps,events",
                "--output=wide",
            ])
            .await;
        format!(
            "{}{}\n{}",
            all.stdout,
            all.stderr,
            self.operator.log_tails()
        )
    }
}
