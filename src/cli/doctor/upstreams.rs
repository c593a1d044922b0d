//! The upstreams: can they be reached, do they take the key, do they know the model?

use std::sync::Arc;
use std::time::Duration;

use super::finding::Finding;
use crate::config::{Config, UpstreamKindSetting, UpstreamSection};
use crate::domain::model::message::Message;
use crate::domain::settings::Template;
use crate::domain::summary::{SummaryPart, SummaryTask, USUAL_ROOM};
use crate::lifecycle::upstreams::upstreams;
use crate::llm::{Listing, Upstream};

/// No answer of a doctor's takes longer.
const PATIENCE: Duration = Duration::from_secs(15);
const QUESTION_TOKENS: u32 = 256;

pub async fn look(config: &Config, call: bool) -> Vec<Finding> {
    let remote: Vec<UpstreamSection> = config.upstreams.iter().map(hurried).collect();
    let callers = match upstreams(&remote) {
        Ok(callers) => callers,
        Err(error) => {
            return vec![Finding::fail("upstreams", format!("{error:#}"), "mend its table in the configuration")];
        }
    };
    let mut findings = Vec::new();
    for section in remote.iter().filter(|section| section.kind != UpstreamKindSetting::Builtin) {
        let Some(upstream) = callers.get(&section.name) else { continue };
        findings.push(listed(&upstream, section).await);
        if call {
            findings.push(asked(&upstream, section).await);
        }
    }
    if findings.is_empty() {
        findings.push(Finding::ok("upstreams", "none beside the built-in summariser, which needs nothing"));
    }
    findings
}

/// One attempt, and not for long.
fn hurried(section: &UpstreamSection) -> UpstreamSection {
    let most = u64::try_from(PATIENCE.as_millis()).unwrap_or(u64::MAX);
    UpstreamSection { max_retries: 0, timeout_ms: section.timeout_ms.min(most), ..section.clone() }
}

async fn listed(upstream: &Upstream, section: &UpstreamSection) -> Finding {
    let check = format!("upstream {}", section.name);
    let model = section.model.as_deref().unwrap_or_default();
    match upstream.models().await {
        Listing::Models(models) if models.is_empty() => Finding::warn(
            check,
            "answers, and lists no models",
            "--call asks it a short question, which costs a little",
        ),
        Listing::Models(models) if models.iter().any(|listed| listed == model) => {
            Finding::ok(check, format!("takes the key and has the model {model}"))
        }
        Listing::Models(models) => Finding::warn(
            check,
            format!("takes the key; {model} is not among the {} models that it lists", models.len()),
            "see that the model's name is right; an alias may not be listed, --call tries it",
        ),
        Listing::Refused { code: 401 | 403, message } => Finding::fail(
            check,
            format!("refuses the key: {message}"),
            "set the upstream's api_key to one that is valid",
        ),
        Listing::Refused { code: 404 | 405 | 501, .. } => Finding::warn(
            check,
            "answers, and has no list of models, so that the key could not be tried",
            "--call asks it a short question, which costs a little",
        ),
        Listing::Refused { message, .. } => {
            Finding::fail(check, format!("answers with {message}"), "see that base_url names the API of this kind")
        }
        Listing::Away(cause) => {
            let advice =
                "see that base_url is right, and that this host may go there (name, route, proxy, certificates)";
            Finding::fail(check, format!("can't be reached: {cause}"), advice)
        }
    }
}

/// A question that is paid for.
async fn asked(upstream: &Upstream, section: &UpstreamSection) -> Finding {
    let check = format!("call {}", section.name);
    let task = SummaryTask {
        part: SummaryPart::History,
        template: Template::Prose,
        prompt: Some("Answer with the one word: ready.".to_owned()),
        previous: None,
        messages: Arc::<[Message]>::from(Vec::new()),
        source: None,
        background: None,
        newer_from: None,
        shown: Some(Arc::from("(a check of the connection)")),
        room: USUAL_ROOM,
        span_tokens: 0,
        focus_topic: None,
        instructions: None,
        max_output_tokens: QUESTION_TOKENS,
        correction: None,
    };
    match upstream.summarise(&task).await {
        Ok(answer) => Finding::ok(check, format!("answered in {} ms", answer.latency.as_millis())),
        Err(error) => Finding::fail(check, error.to_string(), "the provider's words say what it wants"),
    }
}
