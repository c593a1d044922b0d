//! The summariser is never sent more than its window, and is sent everything.

use contextd::domain::model::message::{Block, Message, Role, ToolCall, ToolResult};
use contextd::domain::settings::{Estimator, Template};
use contextd::domain::summary::{SummaryPart, SummaryTask, chunk};
use proptest::prelude::*;
use serde_json::json;

/// Room for the parts themselves beside the prompt around them.
const LEAST_ROOM: u32 = 128;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,8}( [a-z]{1,8}){0,20}",
        (1usize..300).prop_map(|n| "漢字😀👩‍👩‍👧 ".repeat(n)),
        (1usize..400).prop_map(|n| format!("<b>{n}</b> & \"quoted\"\n").repeat(n)),
        "\\PC{0,200}",
    ]
}

fn message() -> impl Strategy<Value = Message> {
    prop_oneof![
        text().prop_map(|text| Message::text(Role::User, text)),
        (text(), text()).prop_map(|(text, argument)| {
            let call = ToolCall {
                id: "a".to_owned(),
                name: "write".to_owned(),
                arguments: json!({"content": argument}),
                arguments_text: None,
                kind: Default::default(),
                opaque: None,
            };
            Message::new(Role::Assistant, vec![Block::text(text), Block::ToolCall(call)])
        }),
        (text(), any::<bool>()).prop_map(|(text, is_error)| {
            let result = ToolResult {
                tool_call_id: "a".to_owned(),
                name: None,
                content: vec![Block::text(text)],
                is_error,
                kind: Default::default(),
                opaque: None,
            };
            Message::new(Role::Tool, vec![Block::ToolResult(result)])
        }),
    ]
}

/// All that was said by people and models, and the names of the calls where `calls` are whole.
fn said<'a>(messages: impl IntoIterator<Item = &'a Message>) -> String {
    let blocks = messages.into_iter().flat_map(|message| &message.content);
    blocks
        .filter_map(|block| match block {
            Block::Text { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

proptest! {
    #![proptest_config(super::config(32))]
    #[test]
    fn every_part_fits_and_nothing_is_left_out(
        messages in proptest::collection::vec(message(), 1..12),
        room in LEAST_ROOM..3_000u32,
        estimator in proptest::sample::select(vec![Estimator::O200k, Estimator::Cl100k, Estimator::Pi, Estimator::Praison]),
        previous in proptest::option::of(text()),
    ) {
        let task = SummaryTask {
            part: SummaryPart::History,
            template: Template::Checkpoint,
            prompt: None,
            previous,
            messages: messages.into(),
            shown: None,
            focus_topic: None,
            instructions: None,
            max_output_tokens: 1_000,
            correction: None,
        };
        let bare = SummaryTask { previous: None, messages: [].into(), ..task.clone() };
        let window = chunk::input_tokens(&bare, estimator) + 64 + room;
        let limits = chunk::ChunkLimits { whole: window, part: window, part_output: 1_000 };
        let parts = chunk::split(&task, limits, estimator).expect("room for a part");
        for part in &parts {
            let tokens = chunk::input_tokens(part, estimator);
            prop_assert!(tokens <= window, "{tokens} of {window}, {} parts", parts.len());
        }
        let sent: Vec<&Message> = parts.iter().flat_map(|part| part.messages.iter()).filter(|message| message.role != Role::System).collect();
        prop_assert_eq!(said(sent.iter().copied()), said(task.messages.iter()));
        let calls = |messages: &[&Message]| messages.iter().flat_map(|message| message.tool_calls()).count();
        prop_assert!(calls(&sent) >= calls(&task.messages.iter().collect::<Vec<_>>()));
    }
}
