//! Transcripts in and out of files.

use std::io::Read;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use futures::TryStreamExt;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::output::{columns, print, warn};
use super::progress::Progress;
use super::text::visible;
use crate::domain::model::format::Format;
use crate::service::Services;
use crate::service::core::tenant::Tenant;
use crate::service::ingest::append::{Append, Warning};
use crate::service::sessions::NewSession;

#[derive(Debug, Args)]
pub struct Import {
    /// `-` reads standard input.
    file: PathBuf,
    #[arg(long, value_parser = format, help = Format::names(Format::ALL))]
    format: Format,
    /// Whose session it is; `dev` is the tenant of `serve --dev`.
    #[arg(long, default_value = "default")]
    tenant: String,
}

#[derive(Debug, Args)]
pub struct ExportArgs {
    session: Uuid,
    /// The path of this entry in place of the session's leaf.
    #[arg(long, value_name = "ENTRY")]
    leaf: Option<Uuid>,
    #[arg(long, value_parser = format, help = Format::names(Format::ALL))]
    format: Format,
    /// Whose session it is; `dev` is the tenant of `serve --dev`.
    #[arg(long, default_value = "default")]
    tenant: String,
}

/// Makes a session of a file: JSON Lines, or one JSON array. Prints the session's id.
pub async fn import(services: &Services, import: Import) -> anyhow::Result<()> {
    let format = import.format;
    let text = read(&import.file)?;
    let items = items(text.strip_prefix('\u{feff}').unwrap_or(&text), format)?;
    anyhow::ensure!(!items.is_empty(), "the file holds no item");
    let tenant = Tenant(services.keys.tenant_named(&import.tenant).await?);
    let session = services.sessions.create_session(tenant, NewSession::default()).await?;
    // A file's own tree must be seen whole; other items may come in parts.
    let batch = if format.has_tree() { items.len().max(1) } else { services.sessions.options().max_items };
    let progress = Progress::of(items.len());
    progress.say("items imported");
    let (mut warnings, mut taken) = (Warnings::default(), 0);
    for items in items.chunks(batch) {
        let append = Append {
            format,
            items: items.to_vec(),
            parent_id: None,
            expected_leaf_id: None,
            usage: None,
            provider_error: None,
            is_whole: false,
        };
        match services.sessions.append(tenant, session.id, append).await {
            Ok(appended) => warnings.take(&appended.warnings, taken),
            Err(error) => {
                services.erasure.erase(tenant, session.id).await?;
                bail!("{error}: {error:?}");
            }
        }
        taken += items.len();
        progress.advance(items.len());
    }
    drop(progress);
    warnings.tell()?;
    print(&format!("{}\n", session.id))
}

/// How many warnings of an import are told one by one.
const MOST_WARNINGS: usize = 20;

/// What of a file was taken otherwise than it looks, on its way to standard error.
#[derive(Default)]
struct Warnings {
    lines: String,
    count: usize,
}

impl Warnings {
    /// Takes in those of the next items; so many came before them.
    fn take(&mut self, warnings: &[Warning], before: usize) {
        for warning in warnings {
            self.count += 1;
            if self.count > MOST_WARNINGS {
                continue;
            }
            let place = warning.pointer.split('/').nth(2).and_then(|place| place.parse::<usize>().ok()).unwrap_or(0);
            let code = warning.code.into_str();
            self.lines += &visible(&format!("warning: item {}: {code}: {}", before + place + 1, warning.detail));
            self.lines.push('\n');
        }
    }

    fn tell(mut self) -> anyhow::Result<()> {
        if self.count > MOST_WARNINGS {
            self.lines += &format!("warning: and {} more\n", self.count - MOST_WARNINGS);
        }
        warn(&self.lines)
    }
}

/// Writes a session to standard output, one item a line.
pub async fn export(services: &Services, export: ExportArgs) -> anyhow::Result<()> {
    let format = export.format;
    let tenant = Tenant(services.keys.tenant_named(&export.tenant).await?);
    let wanted = crate::service::recall::export::Export { format, leaf_id: export.leaf };
    let mut pieces = services.queries.export(tenant, export.session, wanted).await?;
    // Not between the lines of an export to the terminal itself.
    let progress = columns().is_none().then(Progress::spinner);
    let mut written = 0;
    while let Some(piece) = pieces.try_next().await? {
        print(&piece)?;
        written += piece.len();
        if let Some(progress) = &progress {
            progress.say(&format!("{} KiB written", written >> 10));
        }
    }
    Ok(())
}

fn format(name: &str) -> Result<Format, String> {
    name.parse::<Format>().ok().ok_or_else(|| format!("must be {}", Format::names(Format::ALL)))
}

fn read(file: &std::path::Path) -> anyhow::Result<String> {
    let mut text = String::new();
    if file.as_os_str() == "-" {
        std::io::stdin().read_to_string(&mut text).context("reading standard input")?;
    } else {
        text = std::fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    }
    Ok(text)
}

/// The items of a text. Two that an agent wrote into one line of its file are two. As pi does, what is no JSON in a file (a
/// write that was cut off) is passed over.
fn items(text: &str, format: Format) -> anyhow::Result<Vec<Box<RawValue>>> {
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(text).context("the file is no JSON array");
    }
    let mut items = Vec::new();
    for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        for item in serde_json::Deserializer::from_str(line).into_iter() {
            match item {
                Ok(item) => items.push(item),
                Err(error) if format.is_file() => tracing::warn!(line = n + 1, %error, "what is no JSON is left out"),
                Err(error) => return Err(error).with_context(|| format!("line {}", n + 1)),
            }
        }
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_may_hold_two_items() {
        let told = |text: &str, format: Format| {
            items(text, format).map(|items| items.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        let two = "{\"a\": 1}{\"b\":2}\n\n{\"c\":3}";
        for format in [Format::Pi, Format::OpenaiChat] {
            assert_eq!(told(two, format).unwrap(), ["{\"a\": 1}", "{\"b\":2}", "{\"c\":3}"]);
        }
        let cut = "{\"a\":1}{\"b\":\n{\"c\":3}";
        assert_eq!(told(cut, Format::ClaudeCode).unwrap(), ["{\"a\":1}", "{\"c\":3}"]);
        assert!(told(cut, Format::OpenaiChat).is_err());
    }
}
