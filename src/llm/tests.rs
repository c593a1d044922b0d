//! Every way in which an upstream can behave, played over a real socket.

mod behaviours;
mod pure;
mod retries;

use std::time::Duration;

use super::*;
use crate::domain::model::message::{Message, Role};
use crate::domain::settings::Template;
use crate::domain::summary::{SummaryPart, USUAL_ROOM};
use crate::llm::played_upstream::{Behaviour, PlayedUpstream};

const KEY: &str = "sk-test-0123456789";
const SAID: &str = "Please move the parser into its own module and keep every test green while you do it.";
const KINDS: [UpstreamKind; 3] = [UpstreamKind::Openai, UpstreamKind::OpenaiResponses, UpstreamKind::Anthropic];

fn config(kind: UpstreamKind, base_url: &str) -> UpstreamConfig {
    UpstreamConfig {
        base_url: base_url.to_owned(),
        model: "played".to_owned(),
        api_key: Some(KEY.into()),
        timeout: Duration::from_secs(10),
        retry_base: Duration::from_millis(4),
        retry_max: Duration::from_millis(20),
        ..UpstreamConfig::new("played", kind)
    }
}

fn upstream(server: &PlayedUpstream, change: impl FnOnce(&mut UpstreamConfig)) -> Upstream {
    let mut config = config(UpstreamKind::Openai, &server.base_url());
    change(&mut config);
    Upstream::new(config).expect("a valid configuration")
}

fn task() -> SummaryTask {
    SummaryTask {
        part: SummaryPart::History,
        template: Template::Checkpoint,
        prompt: None,
        previous: None,
        messages: [Message::text(Role::User, SAID)].into(),
        source: None,
        background: None,
        newer_from: None,
        shown: None,
        room: USUAL_ROOM,
        span_tokens: 0,
        focus_topic: None,
        instructions: None,
        max_output_tokens: 500,
        correction: None,
    }
}

async fn ask(behaviour: Behaviour, kind: UpstreamKind) -> Result<Completion, UpstreamError> {
    let server = PlayedUpstream::start(behaviour).await;
    upstream(&server, |config| config.kind = kind).summarise(&task()).await
}
