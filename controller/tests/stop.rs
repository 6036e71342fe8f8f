//! The program is told to stop, for real.

#![allow(clippy::unwrap_used)]

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    net::{Ipv4Addr, TcpListener},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// The program, killed when a test is over.
struct Controller(Child);

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Controller {
    /// Starts it with an API server at this port of 127.0.0.1, and returns once it watches.
    fn start(api_server: u16) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let kubeconfig = dir.path().join("kubeconfig");
        let text = format!(
            "{{clusters: [{{name: c, cluster: {{server: 'http://127.0.0.1:{api_server}'}}}}], \
             contexts: [{{name: c, context: {{cluster: c, user: u}}}}], \
             users: [{{name: u, user: {{}}}}], current-context: c}}"
        );
        fs::write(&kubeconfig, text).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_task-controller"))
            .args(["--health-bind=127.0.0.1:0", "--metrics-bind=127.0.0.1:0"])
            .env("KUBECONFIG", &kubeconfig)
            .env("RUST_LOG", "info")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut controller = Self(child);
        let mut lines = BufReader::new(controller.0.stderr.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("started")));
        // Whatever else it logs must not fill the pipe.
        thread::spawn(move || lines.count());
        controller
    }

    /// Sends SIGTERM, and gives how it ended, if it did in time.
    fn stop(mut self) -> Option<ExitStatus> {
        let pid = Pid::from_raw(self.0.id().cast_signed());
        kill(pid, Signal::SIGTERM).unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while Instant::now() < deadline {
            if let Some(status) = self.0.try_wait().unwrap() {
                return Some(status);
            }
            thread::sleep(Duration::from_millis(20));
        }
        None
    }
}

#[test]
fn it_stops_while_no_api_server_is_to_be_had() {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .unwrap()
        .port();
    let status = Controller::start(port).stop();
    assert!(status.is_some_and(|status| status.success()), "{status:?}");
}

#[test]
fn it_stops_while_the_api_server_does_not_answer() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let controller = Controller::start(port);
    let (mut connection, _) = listener.accept().unwrap();
    connection.read_exact(&mut [0]).unwrap();
    let status = controller.stop();
    assert!(status.is_some_and(|status| status.success()), "{status:?}");
}
