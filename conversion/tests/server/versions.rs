//! The versions of TLS.

use rustls::version::{TLS12, TLS13};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::program::Program;

#[tokio::test]
async fn tls_1_2_and_1_3_are_spoken() {
    let program = Program::start(&[]).await;
    for version in [&TLS12, &TLS13] {
        let client = program.client.of_version(version);
        assert_eq!(client.get("/healthz").await.text, "ok\n");
    }
}

#[tokio::test]
async fn tls_1_1_is_refused() {
    let program = Program::start(&[]).await;
    // A handshake message, against an alert: fatal, protocol_version.
    assert_eq!(answer_to_hello(&program, 3).await[0], 22);
    let refused = answer_to_hello(&program, 2).await;
    assert_eq!((refused[0], &refused[5..7]), (21, &[2, 70][..]));
}

/// The first bytes of the answer to a ClientHello (RFC 5246) of TLS 1.1, minor version 2, or 1.2, minor version 3.
async fn answer_to_hello(program: &Program, minor: u8) -> [u8; 7] {
    let hello = [
        &[3, minor][..],
        // Random bytes, and no session.
        &[7; 32],
        &[0],
        // TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, and no compression.
        &[0, 2, 0xc0, 0x2b, 1, 0],
        // X25519, and ecdsa_secp256r1_sha256.
        &[0, 16, 0, 10, 0, 4, 0, 2, 0, 0x1d, 0, 13, 0, 4, 0, 2, 4, 3],
    ]
    .concat();
    let length = u8::try_from(hello.len()).unwrap();
    let record = [&[22, 3, 1, 0, length + 4, 1, 0, 0, length][..], &hello].concat();
    let mut stream = TcpStream::connect(program.client.address).await.unwrap();
    stream.write_all(&record).await.unwrap();
    let mut answer = [0; 7];
    stream.read_exact(&mut answer).await.unwrap();
    answer
}
