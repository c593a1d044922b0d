//! Compactions of the providers' own: replayed as they came, told to others as far as they can be read.

use serde_json::{Value, json};

use super::{appended, rebuilt, user};
use crate::format::note_code::NoteCode;
use crate::model::format::Format;

fn codes(target: Format, source: Format, items: &[Value]) -> (String, Vec<&'static str>) {
    let (out, notes) = rebuilt(&appended(source, items), target);
    (Value::from(out).to_string(), notes.iter().map(|note| note.code.into_str()).collect())
}

#[test]
fn a_readable_one_comes_back_and_is_told_as_text_elsewhere() {
    let block = json!({"type": "compaction", "content": "All tests pass.", "cache_control": {"type": "ephemeral"}});
    let items = [
        user("go"),
        json!({"role": "assistant", "content": [block, {"type": "text", "text": "On we go."}]}),
        user("next"),
    ];
    let (out, notes) = rebuilt(&appended(Format::Anthropic, &items), Format::Anthropic);
    assert_eq!((out, notes), (items.to_vec(), vec![]));
    let mut whole = items[1].clone();
    whole["id"] = "msg_1".into();
    let (out, _) = rebuilt(&appended(Format::Anthropic, &[user("go"), whole]), Format::Anthropic);
    assert_eq!(out[1], items[1], "also where the message has to be written anew");
    for target in [Format::OpenaiChat, Format::OpenaiResponses, Format::Native, Format::Pi] {
        let (out, codes) = codes(target, Format::Anthropic, &items);
        assert!(out.contains("<provider_summary>\\nAll tests pass."), "{target:?}: {out}");
        assert!(!out.contains("\"compaction\""), "{target:?}: {out}");
        assert_eq!(codes, ["provider_compaction_as_text"], "{target:?}");
    }
}

#[test]
fn a_failed_one_is_left_out() {
    for content in [json!(null), json!("")] {
        let failed = json!({"role": "assistant", "content": [
            {"type": "compaction", "content": content}, {"type": "text", "text": "On we go."}]});
        let (out, notes) = rebuilt(&appended(Format::Anthropic, &[user("go"), failed]), Format::Anthropic);
        assert_eq!(out[1]["content"], json!([{"type": "text", "text": "On we go."}]));
        assert!(notes.iter().any(|note| note.code == NoteCode::EmptyTextDropped), "{notes:?}");
    }
}

#[test]
fn an_encrypted_one_is_shown_to_its_provider_only() {
    for kind in ["compaction", "compaction_summary"] {
        let items = [
            user("go"),
            json!({"type": kind, "id": "cmp_1", "encrypted_content": "c2VjcmV0"}),
            json!({"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "On we go."}]}),
            user("next"),
        ];
        let entries = appended(Format::OpenaiResponses, &items);
        assert!(entries[1].head.shape.checkpoint);
        assert_eq!(rebuilt(&entries, Format::OpenaiResponses), (items.to_vec(), vec![]));
        for target in [Format::OpenaiChat, Format::Anthropic, Format::Pi] {
            let (out, codes) = codes(target, Format::OpenaiResponses, &items);
            assert!(!out.contains("c2VjcmV0"), "{target:?}: {out}");
            assert!(codes.contains(&"provider_compaction_dropped"), "{target:?}: {codes:?}");
        }
    }
}

#[test]
fn reasoning_leads_across_a_compaction() {
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc"});
    let compaction = json!({"type": "compaction", "encrypted_content": "xyz"});
    let said = json!({"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "yes"}]});
    let items = [user("go"), reasoning, compaction, said];
    let entries = appended(Format::OpenaiResponses, &items);
    assert!(entries[1].head.shape.leads && !entries[2].head.shape.leads);
    assert_eq!(rebuilt(&entries, Format::OpenaiResponses), (items.to_vec(), vec![]));
    let (out, notes) = rebuilt(&entries[..3], Format::OpenaiResponses);
    assert_eq!(out.len(), 2);
    assert_eq!(notes[0].code.into_str(), "reasoning_unpaired");
}
