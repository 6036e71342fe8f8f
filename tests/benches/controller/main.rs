//! What the controller costs when many Tasks are created at once, and at rest; beside another operator of the same API if `PEER_BIN`
//! names its executable.
//!
//! Each is measured on a control plane of its own, with no webhooks. Times are of the wall clock, CPU-seconds and resident memory those
//! that the system counts for the process, and requests those in the API server's audit log.
//!
//! | variable | default | |
//! |---|---|---|
//! | `TASKS` | 1000 | how many Tasks |
//! | `API_ONLY` | not set | with any value: an API server alone, so that nothing becomes available; then a Task has converged when it is `Pending` and has its children |
//! | `REST_SECONDS` | 60 | how long to watch it at rest |
//! | `PEER_BIN` | not set | another operator, which takes `--kubeconfig`, `--cert-dir`, `--webhook-host`, `--webhook-port` and `--metrics-addr` |

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod process;
mod tasks;

use std::{env, ffi::OsString, path::Path, time::Duration};

use control_plane::{
    ControlPlane, Options, Port, crd,
    process::{Process, Program},
};
use local_operator::CONTROLLER;
use task_tests::AuditLog;
use tokio::time::{Instant, sleep};

use process::Usage;
use tasks::Tasks;

/// How long an operator is given to start and to become idle.
const SETTLE: Duration = Duration::from_secs(10);

fn number(variable: &str, default: u64) -> u64 {
    match env::var(variable) {
        Ok(text) => text.parse().expect("a number"),
        Err(_) => default,
    }
}

/// What came of one operator.
struct Figures {
    converged: Duration,
    requests: usize,
    writes: usize,
    cpu: Duration,
    peak_memory_mb: f64,
    rest_cpu: Duration,
    rest_requests: usize,
}

#[tokio::main]
async fn main() {
    let tasks = usize::try_from(number("TASKS", 1000)).unwrap();
    let rest = Duration::from_secs(number("REST_SECONDS", 60));
    let workloads = env::var_os("API_ONLY").is_none();
    let executables = local_operator::executables().unwrap();
    local_operator::build(&executables).await.unwrap();

    let mut rows = vec![("task-controller".to_owned(), executables.join(CONTROLLER))];
    if let Some(peer) = env::var_os("PEER_BIN") {
        rows.push(("peer".to_owned(), peer.into()));
    }
    println!(
        "{tasks} Tasks, {}, at rest for {} s",
        if workloads {
            "with workloads"
        } else {
            "API server only"
        },
        rest.as_secs()
    );
    for (name, executable) in rows {
        let figures = measure(&executable, tasks, workloads, rest).await;
        println!(
            "{name}: converged after {:.1} s, {} requests ({} writes), {:.2} CPU-s, {:.1} MB at the most; at rest {:.3} CPU-s and {} requests",
            figures.converged.as_secs_f64(),
            figures.requests,
            figures.writes,
            figures.cpu.as_secs_f64(),
            figures.peak_memory_mb,
            figures.rest_cpu.as_secs_f64(),
            figures.rest_requests,
        );
    }
}

async fn measure(executable: &Path, count: usize, workloads: bool, rest: Duration) -> Figures {
    let name = executable.file_name().unwrap().to_str().unwrap().to_owned();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bench-{name}"));
    let log = AuditLog::in_folder(&folder).unwrap();
    let options = Options {
        workloads,
        api_server_args: log.api_server_args(),
        ..Options::default()
    };
    let control_plane = ControlPlane::start(options).await.unwrap();
    let mut definition = task_crds::crd();
    definition.spec.conversion = None;
    crd::install(control_plane.client().unwrap(), &definition)
        .await
        .unwrap();
    let tasks = Tasks::new(control_plane.client().unwrap());

    let operator = start(executable, &name, &control_plane, &folder);
    sleep(SETTLE).await;
    let began = Instant::now();
    tasks.create(count).await;
    tasks.until_converged(count, workloads).await;
    let converged = began.elapsed();
    sleep(SETTLE).await;
    let agent = format!("{name}/");
    let requests = log.of_agent(&agent).unwrap();
    let usage = Usage::of(operator.id()).unwrap();
    sleep(rest).await;
    let rested = Usage::of(operator.id()).unwrap();
    Figures {
        converged,
        requests: requests.len(),
        writes: requests.iter().filter(|request| request.is_write()).count(),
        cpu: usage.cpu,
        peak_memory_mb: usage.peak_memory as f64 / 1e6,
        rest_cpu: rested.cpu - usage.cpu,
        rest_requests: log.of_agent(&agent).unwrap().len() - requests.len(),
    }
}

fn start(executable: &Path, name: &str, control_plane: &ControlPlane, folder: &Path) -> Process {
    let [one, other] = [Port::claim().unwrap(), Port::claim().unwrap()];
    let mut env = vec![("KUBECONFIG".into(), control_plane.kubeconfig().into())];
    let args: Vec<OsString> = if name == CONTROLLER {
        vec![
            "--health-bind".into(),
            one.address().to_string().into(),
            "--metrics-bind".into(),
            other.address().to_string().into(),
        ]
    } else {
        local_operator::issue_certificates(folder).unwrap();
        env.clear();
        vec![
            "--kubeconfig".into(),
            control_plane.kubeconfig().into(),
            "--cert-dir".into(),
            folder.into(),
            "--webhook-host".into(),
            one.address().ip().to_string().into(),
            "--webhook-port".into(),
            one.address().port().to_string().into(),
            "--metrics-addr".into(),
            other.address().to_string().into(),
        ]
    };
    let program = Program {
        name: name.to_owned(),
        path: executable.to_owned(),
        args,
        env,
    };
    Process::start(program, folder).unwrap()
}
