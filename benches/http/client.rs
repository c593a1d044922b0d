//! A lean HTTP client: one connection, kept alive, answers with a length. It shares the machine with the server, so it
//! does as little as it can.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::Outcome;

const READ_BYTES: usize = 64 * 1024;

pub struct Client {
    address: SocketAddr,
    stream: TcpStream,
    /// An API key, where one is needed.
    key: Option<String>,
    /// The answer being read; its start is the head.
    buffer: Vec<u8>,
}

impl Client {
    pub async fn connect(address: SocketAddr) -> Outcome<Client> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Client { address, stream, key: None, buffer: Vec::new() })
    }

    pub fn with_key(mut self, key: &str) -> Client {
        self.key = Some(key.to_owned());
        self
    }

    /// The bytes of a POST, to be sent as often as wanted.
    pub fn request(&self, path: &str, body: &str) -> Vec<u8> {
        Client::bytes(self.address, "POST", path, self.key.as_deref(), body)
    }

    /// The same of a PUT.
    pub fn put_request(&self, path: &str, body: &str) -> Vec<u8> {
        Client::bytes(self.address, "PUT", path, self.key.as_deref(), body)
    }

    /// The bytes of any request.
    pub fn bytes(address: SocketAddr, method: &str, path: &str, key: Option<&str>, body: &str) -> Vec<u8> {
        let key = key.map_or_else(String::new, |key| format!("authorization: Bearer {key}\r\n"));
        let about = match method {
            "GET" => String::new(),
            _ => format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len()),
        };
        format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\n{key}{about}\r\n{body}").into_bytes()
    }

    /// Sends a prepared request and reads the whole answer.
    pub async fn send(&mut self, request: &[u8]) -> Outcome<&[u8]> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        let (head, length) = loop {
            self.fill().await?;
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                break (end + 4, content_length(&self.buffer[..end + 2])?);
            }
        };
        while self.buffer.len() < head + length {
            self.fill().await?;
        }
        let (head, body) = self.buffer.split_at(head);
        if head.get(9) == Some(&b'2') {
            return Ok(body);
        }
        Err(format!("{}{}", String::from_utf8_lossy(head), String::from_utf8_lossy(body)).into())
    }

    async fn fill(&mut self) -> Outcome<()> {
        self.buffer.reserve(READ_BYTES);
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err("the server closed the connection".into()),
            _ => Ok(()),
        }
    }

    pub async fn post(&mut self, path: &str, body: &str) -> Outcome<Value> {
        let request = self.request(path, body);
        Ok(serde_json::from_slice(self.send(&request).await?)?)
    }

    pub async fn get(&mut self, path: &str) -> Outcome<Value> {
        let request = Client::bytes(self.address, "GET", path, self.key.as_deref(), "");
        Ok(serde_json::from_slice(self.send(&request).await?)?)
    }

    /// Whether a GET goes well.
    pub async fn get_status(&mut self, path: &str) -> Outcome<()> {
        let request = Client::bytes(self.address, "GET", path, self.key.as_deref(), "");
        self.send(&request).await.map(|_| ())
    }

    /// Makes a session and gives its path. Nothing compacts in it by itself.
    pub async fn session(&mut self, settings: &str) -> Outcome<String> {
        let body = format!(r#"{{"settings":{settings}}}"#);
        let session = self.post("/v1/sessions", &body).await?;
        Ok(format!("/v1/sessions/{}", session["id"].as_str().ok_or("a session without an id")?))
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

fn content_length(head: &[u8]) -> Outcome<usize> {
    let head = std::str::from_utf8(head)?;
    let value = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then_some(value.trim())
    });
    Ok(value.ok_or("an answer without a length")?.parse()?)
}
