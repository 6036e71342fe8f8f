//! The certificate is exchanged while the server runs.

use std::time::Duration;

use rustls::pki_types::CertificateDer;
use tokio::time::{Instant, sleep};
use x509_parser::extensions::GeneralName;

use crate::program::{Client, PATIENCE, Program, get, send_on};

/// The names of the certificate that a new connection gets.
async fn served_names(program: &Program) -> Vec<String> {
    let der = served(program).await;
    let (_, certificate) = x509_parser::parse_x509_certificate(&der).unwrap();
    let names = certificate.subject_alternative_name().unwrap().unwrap();
    names
        .value
        .general_names
        .iter()
        .map(|name| match name {
            GeneralName::DNSName(name) => (*name).to_owned(),
            other => other.to_string(),
        })
        .collect()
}

/// The certificate that a new connection gets, whatever it is for.
async fn served(program: &Program) -> CertificateDer<'static> {
    let stream = Client::trusting_all(program.client.address)
        .handshake("http/1.1")
        .await
        .unwrap();
    let (_, session) = stream.get_ref();
    session.peer_certificates().unwrap()[0].clone()
}

#[tokio::test]
async fn a_swap_of_the_folder_as_kubelet_does_it_is_served_without_a_restart() {
    let mut program = Program::start(&[]).await;
    assert_eq!(served_names(&program).await, ["localhost"]);
    let mut kept = program.client.connect().await;
    assert!(send_on(&mut kept, get("/healthz")).await.is_ok());
    for name in ["first.example", "second.example"] {
        program.folder.renew(name);
        let deadline = Instant::now() + PATIENCE;
        while served_names(&program).await != [name] {
            assert!(Instant::now() < deadline, "{name} is not served");
            sleep(Duration::from_millis(100)).await;
        }
    }
    // Connections that are open stay so.
    let answer = send_on(&mut kept, get("/readyz")).await.unwrap();
    assert_eq!(answer.text, "ok\n");
    let client = Client::trusting_all(program.client.address);
    let metrics = client.get("/metrics").await.text;
    assert!(
        metrics.contains(r#"certificate_reloads_total{result="success"} 2"#),
        "{metrics}"
    );
}

#[tokio::test]
async fn a_broken_pair_leaves_the_last_good_one_and_is_logged_and_counted_once() {
    let mut program = Program::start(&[]).await;
    let before = served(&program).await;
    let other = rcgen::generate_simple_self_signed(["other".to_owned()]).unwrap();
    let another = rcgen::generate_simple_self_signed(["another".to_owned()]).unwrap();
    program
        .folder
        .swap(&other.cert.pem(), &another.signing_key.serialize_pem());
    program
        .metric(r#"certificate_reloads_total{result="failure"} 1"#)
        .await;
    sleep(Duration::from_secs(6)).await;
    program
        .metric(r#"certificate_reloads_total{result="failure"} 1"#)
        .await;
    assert_eq!(served(&program).await, before);
    let log = program.log();
    assert_eq!(
        log.matches("tls.key is not the key of ").count(),
        1,
        "{log}"
    );
    assert_eq!(program.client.get("/readyz").await.text, "ok\n");
}

#[tokio::test]
async fn the_expiry_of_the_certificate_is_a_metric() {
    let program = Program::start(&[]).await;
    let der = served(&program).await;
    let (_, certificate) = x509_parser::parse_x509_certificate(&der).unwrap();
    let expiry = certificate.validity().not_after.timestamp();
    program
        .metric(&format!("certificate_expiry_timestamp_seconds {expiry}\n"))
        .await;
}
