use proptest::prelude::*;

use super::*;

fn given_of(verdict: Verdict) -> Given {
    match verdict {
        Verdict::Replace(given) => given,
        other => panic!("{other:?}"),
    }
}

#[test]
fn nothing_said_is_nothing() {
    for body in ["", " \n", "null", "{}", r#"{"ok": true}"#, r#"{"cancel": false}"#, r#"{"compaction": null}"#] {
        assert_eq!(before_compact(body.as_bytes()), Ok(Verdict::Pass), "{body}");
        assert_eq!(build_summary(body.as_bytes()), Ok(None));
        assert_eq!(format_messages(body.as_bytes()), Ok(None));
        assert_eq!(prune_tool_results(body.as_bytes()), Ok(Vec::new()));
    }
}

#[test]
fn cancels_with_and_without_a_reason() {
    assert_eq!(before_compact(br#"{"cancel": true}"#), Ok(Verdict::Cancel(None)));
    let body = format!(r#"{{"cancel": true, "reason": "{}"}}"#, "é".repeat(400));
    assert_eq!(before_navigate(body.as_bytes()), Ok(Verdict::Cancel(Some("é".repeat(300)))));
    // To cancel goes before all else.
    assert_eq!(before_compact(br#"{"cancel": true, "compaction": 7}"#), Ok(Verdict::Cancel(None)));
}

#[test]
fn replaces() {
    let id = Uuid::from_u128(7);
    let body = format!(
        r#"{{"compaction": {{"summary": "S", "first_kept_entry_id": "{id}", "details": {{"read_files": ["a"]}}}}}}"#
    );
    let given = given_of(before_compact(body.as_bytes()).unwrap());
    assert_eq!((given.summary.as_str(), given.first_kept_entry_id), ("S", Some(id)));
    assert_eq!(given.details.unwrap()["read_files"][0], "a");
    let given = given_of(before_navigate(br#"{"summary": {"summary": "B"}}"#).unwrap());
    assert_eq!((given.summary.as_str(), given.details), ("B", None));
    assert_eq!(build_summary(br#"{"summary": ""}"#).unwrap().unwrap().summary, "");
    assert_eq!(format_messages(br#"{"text": "T"}"#), Ok(Some("T".to_owned())));
    let shortened = prune_tool_results(br#"{"results": [{"tool_call_id": "c", "text": "t"}]}"#).unwrap();
    assert_eq!(shortened, [Shortened { entry_id: None, tool_call_id: "c".into(), text: "t".into() }]);
}

#[test]
fn refuses_garbage() {
    for body in ["<html>", "[]", "7", "\"ok\"", "{\"a\":", "{\"cancel\": \"yes\"}", "\u{feff}{}"] {
        assert!(before_compact(body.as_bytes()).is_err(), "{body}");
    }
    assert_eq!(before_compact(b"{\"a\": \"\xff\"}"), Err(BadAnswer::NotJson));
    assert_eq!(before_compact(&[b'['; 100_000]), Err(BadAnswer::NotJson));
    for compaction in [r#""S""#, "{}", r#"{"summary": 7}"#, r#"{"summary": "a\u0000b"}"#] {
        assert!(before_compact(format!(r#"{{"compaction": {compaction}}}"#).as_bytes()).is_err(), "{compaction}");
    }
    for rest in [r#""first_kept_entry_id": "x""#, r#""details": []"#] {
        assert!(before_compact(format!(r#"{{"compaction": {{"summary": "S", {rest}}}}}"#).as_bytes()).is_err());
    }
    for results in ["{}", "[7]", r#"[{"text": "t"}]"#, r#"[{"tool_call_id": "c"}]"#] {
        let body = format!(r#"{{"results": {results}}}"#);
        assert_eq!(prune_tool_results(body.as_bytes()), Err(BadAnswer::Field("results")), "{results}");
    }
}

proptest! {
    #[test]
    fn takes_any_bytes(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = (before_compact(&body), build_summary(&body), format_messages(&body), prune_tool_results(&body));
    }
}

#[test]
fn a_summary_for_a_branch_comes_as_the_contract_has_it_and_what_nobody_reads_is_named() {
    let given = given_of(before_navigate(br#"{"compaction": {"summary": "C"}, "summary": {"summary": "B"}}"#).unwrap());
    assert_eq!(given.summary, "C");
    let named = |event, body: &str| unread(event, body.as_bytes());
    assert_eq!(named(Event::BeforeNavigate, r#"{"compaction": {"summary": "C", "details": {}}, "reason": "x"}"#), None);
    let cut = r#"{"compaction": {"summary": "C", "first_kept_entry_id": "e"}, "colour": 1, "size": null}"#;
    assert_eq!(named(Event::BeforeNavigate, cut).unwrap(), "not used: `colour`, `compaction.first_kept_entry_id`");
    assert_eq!(named(Event::BuildSummary, r#"{"compaction": {"summary": "C"}}"#).unwrap(), "not used: `compaction`");
    let lists = r#"{"summary": "S", "details": {"read_files": ["a"], "note": "n"}}"#;
    assert_eq!(named(Event::BuildSummary, lists).unwrap(), "not used: `details.note`");
    let no_lists = r#"{"compaction": {"summary": "S", "details": {"read_files": 3}}}"#;
    assert_eq!(named(Event::BeforeCompact, no_lists).unwrap(), "not used: `compaction.details`");
    let results = r#"{"results": [{"tool_call_id": "c", "text": "t", "note": 1}, {"note": 2}], "summary": "S"}"#;
    assert_eq!(named(Event::PruneToolResults, results).unwrap(), "not used: `summary`, `results.note`");
    for told in [Event::AfterCompact, Event::AfterNavigate, Event::ChapterRequested] {
        assert_eq!(named(told, r#"{"cancel": true}"#).unwrap(), "not used: `cancel`");
        assert_eq!(named(told, "thanks"), None);
    }
    assert_eq!(named(Event::BeforeCompact, "nonsense"), None);
}
