//! The real program as a child process, and a client for it.

use std::net::SocketAddr;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body_util::BodyExt;
use hyper::client::conn::http1;
use hyper::{HeaderMap, Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme, SupportedProtocolVersion,
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::folder::Folder;

/// How long anything may take that is not measured here.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct Program {
    pub client: Client,
    pub folder: Folder,
    child: Child,
    log: Arc<Mutex<String>>,
}

#[derive(Clone)]
pub struct Client {
    pub address: SocketAddr,
    config: ClientConfig,
}

pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Program {
    pub async fn start(args: &[&str]) -> Self {
        Self::start_by(Command::new(env!("CARGO_BIN_EXE_task-conversion")), args).await
    }

    /// With no more than `files` open files.
    pub async fn start_with_few_files(files: usize, args: &[&str]) -> Self {
        let mut shell = Command::new("sh");
        let script = format!("ulimit -n {files} && exec \"$0\" \"$@\"");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_task-conversion")]);
        Self::start_by(shell, args).await
    }

    /// With a value of `RUST_LOG`, which must let the line pass that tells the address.
    pub async fn start_with_log(filter: &str, args: &[&str]) -> Self {
        let mut command = Command::new("env");
        command
            .arg(format!("RUST_LOG={filter}"))
            .arg(env!("CARGO_BIN_EXE_task-conversion"));
        Self::start_by(command, args).await
    }

    async fn start_by(mut command: Command, args: &[&str]) -> Self {
        let folder = Folder::new("localhost");
        let mut child = command
            .args(["--bind", "127.0.0.1:0", "--cert-dir"])
            .arg(folder.path())
            .args(args)
            .env_remove("RUST_LOG")
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let log = Arc::new(Mutex::new(String::new()));
        let (sender, address) = tokio::sync::oneshot::channel();
        tokio::spawn({
            let log = Arc::clone(&log);
            async move {
                let mut sender = Some(sender);
                while let Ok(Some(line)) = lines.next_line().await {
                    if let Some(address) = address_in(&line)
                        && let Some(sender) = sender.take()
                    {
                        let _ = sender.send(address);
                    }
                    let mut log = log.lock().unwrap();
                    log.push_str(&line);
                    log.push('\n');
                }
            }
        });
        let address = timeout(PATIENCE, address).await.unwrap();
        let address =
            address.unwrap_or_else(|_| panic!("it did not start: {}", log.lock().unwrap()));
        Self {
            client: Client::new(address, &folder.certificate),
            folder,
            child,
            log,
        }
    }

    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    pub fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id().unwrap()).unwrap();
        kill(Pid::from_raw(id), signal).unwrap();
    }

    /// The number after `name` in the kernel's file `file` about the process: as in `VmHWM` of `status`, in kB.
    pub fn kernel_number(&self, file: &str, name: &str) -> u64 {
        let path = format!("/proc/{}/{file}", self.child.id().unwrap());
        let text = std::fs::read_to_string(path).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let words = line.unwrap().trim_start_matches(':').split_whitespace();
        words.take(1).next().unwrap().parse().unwrap()
    }

    /// How many files the process has open.
    pub fn open_files(&self) -> usize {
        let path = format!("/proc/{}/fd", self.child.id().unwrap());
        std::fs::read_dir(path).unwrap().count()
    }

    pub async fn exit(mut self) -> ExitStatus {
        timeout(PATIENCE, self.child.wait()).await.unwrap().unwrap()
    }

    /// Waits until the metrics say `text`.
    pub async fn metric(&self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let metrics = self.client.get("/metrics").await.text;
            if metrics.contains(text) {
                return;
            }
            assert!(Instant::now() < deadline, "no {text} in {metrics}");
            sleep(Duration::from_millis(20)).await;
        }
    }
}

/// The address that a log line of either form tells.
fn address_in(line: &str) -> Option<SocketAddr> {
    let json = || {
        let line: Value = serde_json::from_str(line).ok()?;
        line["fields"]["address"].as_str()?.parse().ok()
    };
    match line.split_once("serving address=") {
        Some((_, address)) => address.parse().ok(),
        None => json(),
    }
}

impl Client {
    pub fn new(address: SocketAddr, certificate: &CertificateDer<'static>) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self { address, config }
    }

    /// The same client, which speaks no other version of TLS.
    pub fn of_version(&self, version: &'static SupportedProtocolVersion) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[version])
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(All(provider)))
            .with_no_client_auth();
        Self {
            address: self.address,
            config,
        }
    }

    pub async fn handshake(&self, protocol: &str) -> std::io::Result<TlsStream<TcpStream>> {
        let mut config = self.config.clone();
        config.alpn_protocols = vec![protocol.into()];
        let stream = TcpStream::connect(self.address).await?;
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config))
            .connect(name, stream)
            .await
    }

    /// A connection of HTTP/1.1.
    pub async fn connect(&self) -> http1::SendRequest<Body> {
        let stream = TokioIo::new(self.handshake("http/1.1").await.unwrap());
        let (sender, connection) = http1::handshake(stream).await.unwrap();
        tokio::spawn(connection);
        sender
    }

    pub async fn send(&self, request: Request<Body>) -> Answer {
        send_on(&mut self.connect().await, request).await.unwrap()
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(get(path)).await
    }

    pub async fn convert(&self, body: impl Into<Body>) -> Value {
        let answer = self.send(post("/convert", body)).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        serde_json::from_str(&answer.text).unwrap()
    }
}

pub async fn send_on(
    sender: &mut http1::SendRequest<Body>,
    request: Request<Body>,
) -> hyper::Result<Answer> {
    let response = sender.send_request(request).await?;
    let (head, body) = response.into_parts();
    let bytes = body.collect().await?.to_bytes();
    Ok(Answer {
        status: head.status,
        headers: head.headers,
        text: String::from_utf8(bytes.to_vec()).unwrap(),
    })
}

pub fn get(path: &str) -> Request<Body> {
    let request = Request::get(path).header(header::HOST, "localhost");
    request.body(Body::empty()).unwrap()
}

pub fn post(path: &str, body: impl Into<Body>) -> Request<Body> {
    let request = Request::post(path).header(header::HOST, "localhost");
    request.body(body.into()).unwrap()
}

/// A review of v1 objects that are wanted at v1alpha1.
pub fn review(objects: Value) -> String {
    json!({"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1",
        "request": {"uid": "u", "desiredAPIVersion": "task.example.io/v1alpha1", "objects": objects},
        "response": {"uid": "", "convertedObjects": null, "result": {"metadata": {}}}})
    .to_string()
}

/// A review of `count` objects of about `bytes` bytes in all.
pub fn large_review(count: usize, bytes: usize) -> Bytes {
    let note = "x".repeat((bytes / count).saturating_sub(230));
    let task = |index: usize| {
        json!({"apiVersion": "task.example.io/v1", "kind": "Task",
            "metadata": {"name": format!("t{index}"), "namespace": "n", "annotations": {"note": note}},
            "spec": {"replicas": 1, "env": {"A": "1"}, "operation": {"provider": "p", "timeout": "90s"}}})
    };
    Bytes::from(review((0..count).map(task).collect()))
}

/// Trusts whoever answers.
#[derive(Debug)]
struct All(Arc<rustls::crypto::CryptoProvider>);

impl Client {
    /// A client that does not look at the certificate.
    pub fn trusting_all(address: SocketAddr) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(All(provider)))
            .with_no_client_auth();
        Self { address, config }
    }
}

impl ServerCertVerifier for All {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
