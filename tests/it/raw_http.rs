//! HTTP/1.1 by hand: what no client library would send, and connections that are kept.

use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::patience::PATIENCE;

/// An answer as it came.
#[derive(Debug, Clone, Default)]
pub struct RawAnswer {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl RawAnswer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_str())
    }

    /// Returns true if the server says that it ends the connection behind this answer.
    pub fn closes(&self) -> bool {
        self.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }
}

/// A connection that is kept as long as its server keeps it.
pub struct RawConnection {
    stream: BufReader<TcpStream>,
}

impl RawConnection {
    /// `base` is the server's address, with or without `http://`.
    pub async fn open(base: &str) -> RawConnection {
        let address = base.strip_prefix("http://").unwrap_or(base);
        RawConnection { stream: BufReader::new(TcpStream::connect(address).await.unwrap()) }
    }

    /// Sends bytes; false where the server has ended the connection.
    pub async fn send(&mut self, bytes: &[u8]) -> bool {
        let sent = timeout(PATIENCE, self.stream.write_all(bytes)).await.expect("the server reads");
        sent.is_ok() && self.stream.flush().await.is_ok()
    }

    /// The next answer; `None`: the connection ended before it was whole.
    pub async fn answer(&mut self) -> Option<RawAnswer> {
        timeout(PATIENCE, self.read_answer()).await.expect("an answer or an end")
    }

    /// Sends a request and reads its answer.
    pub async fn ask(&mut self, bytes: &[u8]) -> Option<RawAnswer> {
        // An answer may have come, and the connection may have ended, before all of it is sent.
        self.send(bytes).await;
        self.answer().await
    }

    async fn read_answer(&mut self) -> Option<RawAnswer> {
        let line = self.line().await?;
        let status = line.split(' ').nth(1)?.parse().ok()?;
        let mut answer = RawAnswer { status, ..RawAnswer::default() };
        loop {
            let line = self.line().await?;
            let Some((name, value)) = line.split_once(':') else { break };
            answer.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        if (100..200).contains(&status) {
            return Some(answer);
        }
        let mut body = Vec::new();
        if let Some(length) = answer.header("content-length") {
            body = vec![0; length.parse().ok()?];
            self.stream.read_exact(&mut body).await.ok()?;
        } else if answer.header("transfer-encoding").is_some() {
            loop {
                let mut chunk = vec![0; usize::from_str_radix(&self.line().await?, 16).ok()? + 2];
                self.stream.read_exact(&mut chunk).await.ok()?;
                if chunk.len() == 2 {
                    break;
                }
                body.extend_from_slice(&chunk[..chunk.len() - 2]);
            }
        }
        answer.body = String::from_utf8_lossy(&body).into_owned();
        Some(answer)
    }

    /// A line without its end.
    async fn line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            line.push(self.stream.read_u8().await.ok()?);
        }
        line.truncate(line.len() - 2);
        String::from_utf8(line).ok()
    }
}
