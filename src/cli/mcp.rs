//! MCP over standard input and output, for agents that start a program: each line goes to a service's `/mcp`, what comes
//! back is written as lines. Logs go to standard error.

mod message;
mod service;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Stdin, stdin, stdout};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::client::Address;
use message::{Fault, Message};
use service::{Lines, Service};

/// The longest line that is read, bytes: more than a service takes by default.
const MAX_LINE: usize = 64 << 20;
/// Messages that wait for answers; further ones are read when one has its own.
const MAX_PENDING: usize = 32;

#[derive(Debug, Args)]
pub struct McpArgs {
    #[command(flatten)]
    address: Address,
    /// Seconds that an answer may take; the service gives one within 120, if only to say that it gave up.
    #[arg(long, default_value_t = 130, value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
}

/// Hands messages on until standard input ends and all that was asked is answered.
pub async fn bridge(args: McpArgs) -> anyhow::Result<()> {
    let service = Service::new(&args.address, Duration::from_secs(args.timeout))?;
    let (lines, written) = mpsc::channel(MAX_PENDING);
    tokio::try_join!(read(Arc::new(service), lines), write(written))?;
    Ok(())
}

async fn read(service: Arc<Service>, lines: Lines) -> anyhow::Result<()> {
    let mut input = BufReader::new(stdin());
    let mut pending = JoinSet::new();
    while let Some(line) = next_line(&mut input).await.context("reading standard input")? {
        if pending.len() == MAX_PENDING {
            pending.join_next().await;
        }
        let (service, lines) = (Arc::clone(&service), lines.clone());
        pending.spawn(async move { hand_on(&service, line, &lines).await });
        while pending.try_join_next().is_some() {}
    }
    while pending.join_next().await.is_some() {}
    Ok(())
}

async fn write(mut lines: mpsc::Receiver<Vec<u8>>) -> anyhow::Result<()> {
    let mut output = stdout();
    while let Some(mut line) = lines.recv().await {
        line.push(b'\n');
        output.write_all(&line).await.context("writing to standard output")?;
        output.flush().await.context("writing to standard output")?;
    }
    Ok(())
}

/// The next line that says anything, without its end; the first [`MAX_LINE`] bytes and one of a longer one.
async fn next_line(input: &mut BufReader<Stdin>) -> std::io::Result<Option<Vec<u8>>> {
    loop {
        let mut line = Vec::new();
        (&mut *input).take(MAX_LINE as u64 + 1).read_until(b'\n', &mut line).await?;
        match line.last() {
            None => return Ok(None),
            Some(b'\n') if line.trim_ascii().is_empty() => continue,
            Some(b'\n') => line.truncate(line.len() - 1),
            Some(_) if line.len() > MAX_LINE => skip_line(input).await?,
            Some(_) => {}
        }
        return Ok(Some(line));
    }
}

async fn skip_line(input: &mut BufReader<Stdin>) -> std::io::Result<()> {
    loop {
        let buffer = input.fill_buf().await?;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let (skipped, is_over) = (end.map_or(buffer.len(), |end| end + 1), end.is_some() || buffer.is_empty());
        input.consume(skipped);
        if is_over {
            return Ok(());
        }
    }
}

/// Hands one message on; a request that has no answer gets an error.
async fn hand_on(service: &Service, line: Vec<u8>, lines: &Lines) {
    let read = if line.len() > MAX_LINE { Err(Fault::too_long(MAX_LINE)) } else { Message::parse(&line) };
    match read {
        Ok(message) => {
            if let Err(fault) = service.post(&message, line, lines).await {
                tell(&fault, message.asks(), lines).await;
            }
        }
        Err(fault) => tell(&fault, Some("null"), lines).await,
    }
}

async fn tell(fault: &Fault, id: Option<&str>, lines: &Lines) {
    tracing::warn!(id, "{fault}");
    if let Some(id) = id {
        // Where nothing can be written any more, that ends the program.
        let _ = lines.send(fault.line(id)).await;
    }
}
