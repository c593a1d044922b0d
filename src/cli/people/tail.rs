//! `contextd tail`: events as they come, with none lost when the connection breaks.

use std::io;
use std::pin::pin;
use std::time::Duration;

use clap::Args;
use futures::{Stream, StreamExt};
use hyper::body::Bytes;
use serde_json::Value;
use sse_stream::{Sse, SseStream};

use super::compaction;
use crate::cli::client::{Service, ServiceArgs};
use crate::cli::fields::Fields;
use crate::cli::figures::{count, percent};
use crate::cli::output::{complain, print};
use crate::cli::text::visible;

/// The service says something every 15 s: a stream that is silent for longer is dead.
const SILENT: Duration = Duration::from_secs(50);
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

#[derive(Debug, Args)]
pub struct TailArgs {
    #[command(flatten)]
    service: ServiceArgs,
    /// Its id, or its external id; all sessions where it is left out.
    session: Option<String>,
    /// Begin behind the event with this id; 0: with the oldest that is kept.
    #[arg(long, value_name = "EVENT")]
    after: Option<u64>,
    /// One object a line: `id`, `event`, and `data` as the API has it.
    #[arg(long)]
    json: bool,
}

pub async fn run(args: TailArgs) -> anyhow::Result<()> {
    let service = Service::new(&args.service)?;
    let session = match &args.session {
        Some(name) => Some(service.session(name).await?.value.word("/id").to_owned()),
        None => None,
    };
    let path = match &session {
        Some(id) => vec!["v1", "sessions", id.as_str(), "events"],
        None => vec!["v1", "events"],
    };
    let mut tail = Tail { after: args.after.map(|id| id.to_string()), json: args.json, of_all: session.is_none() };
    let (mut pause, mut is_first) = (FIRST_PAUSE, true);
    loop {
        let broken = match service.events(&path, tail.after.as_deref()).await {
            Ok(response) => {
                (pause, is_first) = (FIRST_PAUSE, false);
                tail.follow(response).await?
            }
            Err(fault) if fault.is_passing() && !is_first => fault.to_string(),
            Err(fault) => return Err(fault.into()),
        };
        complain(&format!("{broken}; trying again"));
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

struct Tail {
    /// The last event that was told.
    after: Option<String>,
    json: bool,
    of_all: bool,
}

impl Tail {
    /// Tells what comes until the stream ends; gives why it did.
    async fn follow(&mut self, response: reqwest::Response) -> anyhow::Result<String> {
        let mut events = pin!(SseStream::from_bytes_stream(alive(response)));
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => self.tell(event)?,
                Err(error) => return Ok(format!("the stream broke off: {}", visible(&error.to_string()))),
            }
        }
        Ok("the stream ended".to_owned())
    }

    fn tell(&mut self, event: Sse) -> anyhow::Result<()> {
        let Some(data) = event.data.filter(|data| !data.is_empty()) else { return Ok(()) };
        let kind = event.event.unwrap_or_default();
        let data_value: Value = serde_json::from_str(&data).unwrap_or_default();
        if self.json {
            let id = event.id.as_deref().map_or(Value::Null, Value::from);
            // A service's data is one line of JSON; anything else is told as text.
            let data =
                if data_value.is_null() { Value::from(data).to_string() } else { data.replace(['\n', '\r'], " ") };
            print(&format!("{{\"id\":{id},\"event\":{},\"data\":{data}}}\n", Value::from(kind)))?;
        } else if kind != "ready" {
            print(&self.line(&kind, &data_value))?;
        }
        // Only what was told counts as seen.
        self.after = event.id.or_else(|| self.after.take());
        Ok(())
    }

    fn line(&self, kind: &str, data: &Value) -> String {
        let time = data.word("/created_at").get(11..19).unwrap_or("--:--:--");
        let session = if self.of_all { format!("{}  ", data.word("/session_id")) } else { String::new() };
        visible(&format!("{time}  {session}{kind:<21} {}", told(kind, data))).trim_end().to_owned() + "\n"
    }
}

fn told(kind: &str, data: &Value) -> String {
    let before = data.number("/result/tokens_before");
    match kind {
        "snapshot" | "chapter.requested" => {
            let at = if kind == "snapshot" { "" } else { "/snapshot" };
            let of = |name: &str| data.number(&format!("{at}/{name}"));
            let share = data.figure(&format!("{at}/utilization")).unwrap_or_default() * 100.0;
            let phase = data.word("/phase");
            let state = data.word(&format!("{at}/state"));
            format!("{state} {}, {} of {} tokens {phase}", percent(share), count(of("tokens")), count(of("window")))
        }
        "compaction.succeeded" => format!(
            "{}, {}: {} -> {} tokens ({} less)",
            compaction::strategy(data),
            data.word("/trigger"),
            count(before),
            count(data.number("/result/tokens_after")),
            percent(data.figure("/result/savings_pct").unwrap_or_default())
        ),
        "reset" => format!("{}: what came in between is not kept any more", data.word("/reason")),
        _ => {
            let words = [compaction::strategy(data), data.word("/trigger")];
            let remark = compaction::remark(data);
            let words = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ");
            if remark.is_empty() { words } else { format!("{words}: {remark}") }
        }
    }
}

/// The bytes of a stream, which fails when nothing comes for too long.
fn alive(response: reqwest::Response) -> impl Stream<Item = io::Result<Bytes>> {
    futures::stream::unfold(Some(response), |response| async {
        let mut response = response?;
        let next = tokio::time::timeout(SILENT, response.chunk()).await;
        match next {
            Ok(Ok(Some(chunk))) => Some((Ok(chunk), Some(response))),
            Ok(Ok(None)) => None,
            Ok(Err(error)) => Some((Err(io::Error::other(error.without_url())), None)),
            Err(_) => Some((Err(io::ErrorKind::TimedOut.into()), None)),
        }
    })
}
