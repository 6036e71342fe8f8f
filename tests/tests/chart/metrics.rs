//! The alerts and the dashboard name metrics that there are.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use provider_simulator::Simulator;
use reqwest::{Certificate, Client};
use serde_json::{Value, json};
use task_tests::{Kubectl, Operator};
use tokio::time::{Instant, sleep};

const DEADLINE: Duration = Duration::from_secs(90);

/// The metrics that a text names, by their families: what a histogram or a counter adds to the name is taken away.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let metrics = words.filter(|word| word.starts_with("task_"));
    metrics.map(family).collect()
}

fn family(name: &str) -> String {
    ["_total", "_bucket", "_sum", "_count"]
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix))
        .unwrap_or(name)
        .to_owned()
}

/// The expressions of a file of the chart, which are JSON or YAML, whatever they stand in.
fn expressions(value: &Value, found: &mut String) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match value.as_str() {
                    Some(text) if name == "expr" => *found += &format!("{text}\n"),
                    _ => expressions(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| expressions(item, found)),
        _ => {}
    }
}

/// One operation succeeds and one is tried again, since a family without a number in it is in no scrape.
async fn operations_go_on(operator: &Operator) {
    let kubectl = Kubectl::in_namespace(operator, "metrics").await;
    for provider in ["volumes", "gone"] {
        let task = json!({
            "apiVersion": "task.example.io/v1", "kind": "Task", "metadata": {"name": provider},
            "spec": {"operation": {"provider": provider}},
        });
        kubectl
            .ok_with(&["apply", "--filename=-"], &task.to_string())
            .await;
    }
    let has_ended = |task: &Value| task["status"]["operation"]["phase"] == "Ready";
    kubectl.until("tasks", "volumes", has_ended).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_metric_of_the_alerts_and_of_the_dashboard_is_in_a_scrape() {
    // Whoever was first has set it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("metrics");
    let simulator = Simulator::start().await.unwrap();
    let providers = tempfile::NamedTempFile::new().unwrap();
    let url = simulator.url();
    // Nobody listens at the second one's port.
    let text = format!(
        "providers: [{{name: volumes, url: '{url}', polling: {{interval: 1s}}}}, {{name: gone, url: 'http://127.0.0.1:1'}}]"
    );
    fs::write(providers.path(), text).unwrap();
    let mut args: Vec<OsString> = vec!["--providers".into(), providers.path().into()];
    args.extend(
        [
            "--self-managed-certs",
            "--certs-name=127.0.0.1",
            "--certs-trust-delay=1s",
        ]
        .map(Into::into),
    );
    let operator = Operator::start_controller_with(&folder, &args)
        .await
        .unwrap();
    operations_go_on(&operator).await;
    let mut missing = chart_names();
    let deadline = Instant::now() + DEADLINE;
    while !missing.is_empty() {
        assert!(Instant::now() < deadline, "{missing:?} are in no scrape");
        sleep(Duration::from_millis(500)).await;
        let there = scraped(&operator).await;
        missing.retain(|(_, name)| !there.contains(name));
    }
}

/// The files of the chart, with the metrics that they name.
fn chart_names() -> Vec<(&'static str, String)> {
    let chart = local_operator::workspace()
        .unwrap()
        .join("deploy/chart/task-operator/files");
    let mut names = Vec::new();
    for file in ["alerts.yaml", "dashboard.json"] {
        let text = fs::read_to_string(chart.join(file)).unwrap();
        let mut found = String::new();
        expressions(&serde_saphyr::from_str(&text).unwrap(), &mut found);
        let named = named(&found);
        assert!(named.len() > 8, "{file}: {named:?}");
        names.extend(named.into_iter().map(|name| (file, name)));
    }
    names
}

/// The families that both programs have now.
async fn scraped(operator: &Operator) -> BTreeSet<String> {
    let authority = Certificate::from_pem(operator.webhook().authority_pem().as_bytes()).unwrap();
    let client = Client::builder()
        .tls_certs_only([authority])
        .build()
        .unwrap();
    let url = format!("{}/metrics", operator.webhook().base_url());
    let conversion = client.get(url).send().await.unwrap().text().await.unwrap();
    let all = conversion + &operator.metrics().await.unwrap();
    let types = all.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    types
        .map(|line| family(line.split(' ').next().unwrap()))
        .collect()
}
