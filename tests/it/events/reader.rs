//! A client of server-sent events, as plain as they come: it knows lines, blank lines and how to come back.

use reqwest::{Client, Response};
use serde_json::Value;
use tokio::time::timeout;

use crate::patience::PATIENCE;

/// One event as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    pub id: Option<i64>,
    pub kind: String,
    pub data: Value,
}

impl Seen {
    /// A compaction's event without the prefix, a snapshot's phase.
    pub fn word(&self) -> &str {
        match self.data["phase"].as_str() {
            Some(phase) => phase,
            None => self.kind.strip_prefix("compaction.").unwrap_or(&self.kind),
        }
    }
}

pub struct Reader {
    response: Response,
    text: String,
}

/// Asks for a stream; `after` goes into the header, `key` too.
pub async fn request(url: &str, after: Option<&str>, key: Option<&str>) -> Response {
    let mut request = Client::builder().no_proxy().build().unwrap().get(url);
    if let Some(after) = after {
        request = request.header("last-event-id", after);
    }
    if let Some(key) = key {
        request = request.bearer_auth(key);
    }
    request.send().await.unwrap()
}

impl Reader {
    pub async fn open(url: &str, after: Option<i64>) -> Reader {
        let after = after.map(|after| after.to_string());
        Reader::of(request(url, after.as_deref(), None).await)
    }

    pub fn of(response: Response) -> Reader {
        assert_eq!(
            (response.status().as_u16(), &response.headers()["content-type"]),
            (200, &"text/event-stream".parse().unwrap())
        );
        Reader { response, text: String::new() }
    }

    /// The next event; `None` at the end of the stream, also where the connection breaks.
    pub async fn next(&mut self) -> Option<Seen> {
        loop {
            while let Some(end) = self.text.find("\n\n") {
                let block: String = self.text.drain(..end + 2).collect();
                if let Some(seen) = parse(&block) {
                    return Some(seen);
                }
            }
            let chunk = timeout(PATIENCE, self.response.chunk()).await.expect("an event in time");
            self.text.push_str(std::str::from_utf8(&chunk.ok()??).unwrap());
        }
    }

    /// All events up to the first one that is wanted, that one included.
    pub async fn until(&mut self, wanted: impl Fn(&Seen) -> bool) -> Vec<Seen> {
        let mut all = Vec::new();
        loop {
            let seen = self.next().await.unwrap_or_else(|| panic!("the stream ended after {all:?}"));
            all.push(seen.clone());
            if wanted(&seen) {
                return all;
            }
        }
    }

    /// The recorded events, to the end of so many compactions.
    pub async fn ends(&mut self, mut count: usize) -> Vec<Seen> {
        let mut all = Vec::new();
        while count > 0 {
            let mut more = self.until(is_end).await;
            all.append(&mut more);
            count -= 1;
        }
        recorded(all)
    }
}

pub fn is_end(seen: &Seen) -> bool {
    ["succeeded", "skipped", "failed", "cancelled"].contains(&seen.word())
}

/// Without live snapshots and what opens a stream.
pub fn recorded(all: Vec<Seen>) -> Vec<Seen> {
    all.into_iter()
        .filter(|seen| seen.id.is_some() && (seen.kind != "snapshot" || !seen.data["phase"].is_null()))
        .collect()
}

pub fn words(all: &[Seen]) -> Vec<&str> {
    all.iter().map(Seen::word).collect()
}

pub fn ids(all: &[Seen]) -> Vec<i64> {
    all.iter().filter_map(|seen| seen.id).collect()
}

fn parse(block: &str) -> Option<Seen> {
    let (mut id, mut kind, mut data) = (None, String::from("message"), String::new());
    for line in block.lines() {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => id = Some(value.parse().unwrap()),
            "event" => kind = value.to_owned(),
            "data" => data.push_str(value),
            _ => {}
        }
    }
    (!data.is_empty()).then(|| Seen { id, kind, data: serde_json::from_str(&data).unwrap() })
}
