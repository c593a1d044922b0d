//! Agent transcripts of the two providers, made up and real, through pairing and into both.

use serde_json::Value;

use super::{appended, rebuilt};
use crate::data::Source;
use crate::format::{anthropic, corpus, openai_responses};
use crate::model::format::Format;

#[test]
fn made_up_agent_sessions_are_valid_in_both_formats() {
    are_valid(Source::Own);
}

#[test]
#[cfg_attr(not(shared), ignore = "needs ../shared")]
fn real_agent_sessions_are_valid_in_both_formats() {
    are_valid(Source::Shared);
}

fn are_valid(recorded: Source) {
    type Check = fn(&[Value]) -> Vec<String>;
    let anthropic: (Format, Check) = (Format::Anthropic, anthropic::tests::violations);
    let responses: (Format, Check) = (Format::OpenaiResponses, openai_responses::tests::violations);
    for source in [Format::Anthropic, Format::OpenaiResponses] {
        for session in corpus::sessions(recorded, source) {
            let items = readable(source, &session.items);
            let entries = appended(source, &items);
            for (target, violations) in [anthropic, responses] {
                let (out, notes) = rebuilt(&entries, target);
                assert_eq!(violations(&out), Vec::<String>::new(), "{} as {target:?}: {notes:?}", session.name);
                if target == source && notes.is_empty() {
                    assert_eq!(out, items, "{}", session.name);
                }
            }
        }
    }
}

fn readable(format: Format, items: &[Value]) -> Vec<Value> {
    let reads = |item: &&Value| crate::format::read(format, &item.to_string()).is_ok();
    items.iter().filter(reads).cloned().collect()
}
