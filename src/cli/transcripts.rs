//! Transcripts in and out of files.

use std::io::{Read, Write};

use anyhow::{Context, bail};
use serde_json::value::RawValue;

use super::{Export, Import};
use crate::domain::format::Format;
use crate::service::append::Append;
use crate::service::context::Rebuild;
use crate::service::sessions::NewSession;
use crate::service::state::{Service, Tenant};

/// Makes a session of a file: JSON Lines, or one JSON array. Prints the session's id.
pub async fn import(service: &Service, import: Import) -> anyhow::Result<()> {
    let format = format(&import.format)?;
    let text = read(&import.file)?;
    let items = items(&text)?;
    let tenant = Tenant(service.tenant_named(&import.tenant).await?);
    let session = service.create_session(tenant, NewSession::default()).await?;
    // A file's own tree must be seen whole; other items may come in parts.
    let batch = if format == Format::Pi { items.len().max(1) } else { service.options().max_items };
    for items in items.chunks(batch) {
        let append = Append {
            format,
            items: items.to_vec(),
            parent_id: None,
            expected_leaf_id: None,
            usage: None,
            provider_error: None,
        };
        if let Err(error) = service.append(tenant, session.id, append).await {
            service.delete_session(tenant, session.id).await?;
            bail!("{error}: {error:?}");
        }
    }
    super::print(&format!("{}\n", session.id))
}

/// Writes a session's context to standard output, one message a line.
pub async fn export(service: &Service, export: Export) -> anyhow::Result<()> {
    let format = format(&export.format)?;
    let tenant = Tenant(service.tenant_named(&export.tenant).await?);
    let context = service.rebuild(tenant, export.session, Rebuild { format, leaf_id: None, max_tokens: None }).await?;
    let mut output = std::io::stdout().lock();
    for message in &context.messages {
        writeln!(output, "{message}").context("writing to standard output")?;
    }
    Ok(())
}

fn format(name: &str) -> anyhow::Result<Format> {
    Format::parse(name).with_context(|| format!("{name:?} is no format"))
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

fn items(text: &str) -> anyhow::Result<Vec<Box<RawValue>>> {
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(text).context("the file is no JSON array");
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(n, line)| RawValue::from_string(line.trim().to_owned()).with_context(|| format!("line {}", n + 1)))
        .collect()
}
