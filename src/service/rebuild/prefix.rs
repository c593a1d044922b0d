//! The context that a provider has lately been sent, for a summariser that makes use of its prompt cache.

use anyhow::Context as _;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::domain::model::format::Format;
use crate::domain::model::json::{self, mend_surrogates};
use crate::domain::redaction::Redaction;
use crate::domain::summary::prefix::SessionPrefix;
use crate::service::compaction::work::CompactionWork;
use crate::service::core::error::{Optional as _, Result};
use crate::service::core::offload::offload;
use crate::service::path::entries::message_of;
use crate::service::path::view::{self, ReadMode};
use crate::service::rebuild::{RenderOptions, Service, ViewOrigin, write};

impl Service {
    /// The context of a planned compaction's session, written as a rebuild at `format` writes it. `None` where the
    /// provider can't have it cached: the session has another model, was never handed out at this format, or not
    /// with these messages; or a new summary must not rest on the one before it.
    pub(crate) async fn session_prefix(
        &self,
        work: &CompactionWork,
        format: Format,
        model: &str,
    ) -> Result<Option<SessionPrefix>> {
        let (tenant, session_id) = (work.tenant, work.session_id);
        let mut connection = self.pool().acquire().await?;
        let found = self.inner.heads.read_row(&mut *connection, tenant, session_id).await.optional()?;
        let Some((row, head)) = found else { return Ok(None) };
        let afresh = !work.settings.iterative && head.state.newest.is_some();
        if row.model.as_deref() != Some(model) || afresh {
            return Ok(None);
        }
        let from = ViewOrigin::of(&head);
        let loaded = view::load_view(&mut connection, tenant, &from, ReadMode::Items).await?;
        drop(connection);
        if !row.system.as_deref().is_none_or(|system| holds_system(format, system))
            || !row.tools.as_deref().is_none_or(|tools| holds_tools(format, tools))
        {
            return Ok(None);
        }
        let given = |text: &String| !matches!(text.trim(), "null" | "[]" | "\"\"");
        let system = row.system.filter(given).map(|text| mend_surrogates(&text).into_owned());
        let system = system.map(RawValue::from_string).transpose().context("stored system prompt")?;
        let tools = row.tools.filter(given).map(RawValue::from_string).transpose().context("stored tools")?;
        let kept = loaded.stored.iter().skip_while(|stored| stored.entry.head.id != work.outline.first_kept.id);
        let mut kept_from = None;
        for stored in kept {
            let text = message_of(stored)?.map(|message| message.plain_text()).filter(|text| !text.trim().is_empty());
            if text.is_some() {
                kept_from = text;
                break;
            }
        }
        let (tokens, _) = head.state.account.tokens(head.settings.estimator);
        let how = RenderOptions::of(&head, Some(model), tools.as_deref().map(|tools| tools.get().to_owned()));
        let bytes = loaded.bytes();
        let written = offload(bytes, move || write(&loaded, &loaded.view(), format, how, system)).await??;
        if !self.inner.digests.begin_with(self.pool(), tenant, session_id, format, &written.messages).await? {
            return Ok(None);
        }
        let (system, messages, model) = (written.system, written.messages, model.to_owned());
        let prefix = SessionPrefix { format, model, system, tools, messages, tokens, kept_from };
        let redaction = Redaction::of(&work.settings.redact);
        offload(bytes, move || Some(prefix).filter(|prefix| !holds_secrets(prefix, &redaction))).await
    }
}

/// A context is sent as it is or not at all: with secrets replaced it would not be the one that the provider has cached.
fn holds_secrets(prefix: &SessionPrefix, redaction: &Redaction) -> bool {
    prefix.system.iter().chain(&prefix.messages).any(|raw| redaction.finds(raw.get()))
}

/// Returns true if the format takes a system prompt as it was given.
fn holds_system(format: Format, system: &str) -> bool {
    match system.trim_start().chars().next() {
        Some('[') => format != Format::OpenaiResponses,
        first => matches!(first, Some('"' | 'n')),
    }
}

/// Returns true if the tools are of this format: chat completions have a function inside the tool, others beside it.
fn holds_tools(format: Format, tools: &str) -> bool {
    let Ok(Value::Array(tools)) = json::parse_lenient(tools) else { return tools.trim() == "null" };
    let nested = |tool: &Value| tool.get("function").or(tool.get("custom")).is_some_and(Value::is_object);
    tools.iter().all(|tool| nested(tool) == (format == Format::OpenaiChat))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_and_tools_must_be_of_the_format() {
        let chat = r#"[{"type": "function", "function": {"name": "a"}}]"#;
        let flat = r#"[{"type": "function", "name": "a", "parameters": {}}]"#;
        let tools = |tools| {
            [Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic].map(|format| holds_tools(format, tools))
        };
        assert_eq!(tools(chat), [true, false, false]);
        assert_eq!(tools(flat), [false, true, true]);
        assert_eq!([tools("[]"), tools("null"), tools("{}")], [[true; 3], [true; 3], [false; 3]]);
        assert!(holds_system(Format::Anthropic, r#"[{"type": "text"}]"#) && holds_system(Format::OpenaiChat, "\"a\""));
        assert!(!holds_system(Format::OpenaiResponses, "[]") && !holds_system(Format::Anthropic, "{}"));
    }
}
