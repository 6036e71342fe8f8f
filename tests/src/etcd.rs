//! What etcd has, by its API in JSON.

use std::io;
use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Why etcd gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be talked to.
    #[error("cannot ask etcd")]
    Io(#[from] io::Error),
    /// Its answer is none.
    #[error("etcd gave no JSON")]
    Answer(#[from] serde_json::Error),
}

/// What etcd answers to a range request: `key` and `range_end` in base64, and so are the values in `kvs`.
///
/// # Errors
/// When it gives no answer.
pub async fn etcd_range(address: SocketAddr, body: &Value) -> Result<Value, Error> {
    let body = body.to_string();
    // With HTTP/1.0 the answer ends with the connection.
    let request = format!(
        "POST /v3/kv/range HTTP/1.0\r\nHost: {address}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    let head = answer.windows(4).position(|window| window == b"\r\n\r\n");
    let body = head.map_or(&[][..], |head| &answer[head + 4..]);
    Ok(serde_json::from_slice(body)?)
}
