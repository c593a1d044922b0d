use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::model::format::Format;
use crate::model::message::Opaque;

fn call(arguments: Value) -> ToolCall {
    ToolCall {
        id: "c1".to_owned(),
        name: "write".to_owned(),
        arguments_text: Some(arguments.to_string()),
        arguments,
        kind: CallKind::Function,
        opaque: None,
    }
}

#[test]
fn long_strings_keep_their_ends_and_their_place() {
    let text = format!("{}{}{}", "a".repeat(300), "ü".repeat(500), "z".repeat(200));
    let given = json!({"path": "src/lib.rs", "edits": [{"new": text, "line": 1.50}], "force": true});
    let mut shown = call(given);
    assert!(shorten(&mut shown, 300, 200));
    let head_and_tail =
        format!("{}\n[argument truncated; call_id=c1; original_characters=1000]\n{}", "a".repeat(300), "z".repeat(200));
    let expected = json!({"path": "src/lib.rs", "edits": [{"new": head_and_tail, "line": 1.50}], "force": true});
    assert_eq!(shown.arguments, expected);
    assert_eq!(shown.arguments_text, Some(expected.to_string()));
    assert!(is_placeholder(shown.arguments["edits"][0]["new"].as_str().unwrap()));
}

#[test]
fn short_strings_stay_whole_however_little_is_wanted() {
    let mut shown = call(json!({"command": "x".repeat(ALWAYS_WHOLE), "path": "p".repeat(50)}));
    let before = shown.clone();
    assert!(!shorten(&mut shown, 2, 1));
    assert_eq!(shown, before);
}

#[test]
fn what_the_provider_ran_stays_and_all_else_may_be_shorter() {
    let long = "long ".repeat(400);
    let opaque = |format: Format, kind: &str| Some(Opaque { format, value: json!({"type": kind}) });
    let base = call(json!({"text": long}));
    let hosted = ToolCall { kind: CallKind::Server, ..base.clone() };
    let mut shown = hosted.clone();
    assert!(!shorten(&mut shown, 100, 100) && !condense(&mut shown, 100, 100));
    assert_eq!(shown, hosted);
    let ours = [
        ToolCall { opaque: opaque(Format::OpenaiResponses, "shell_call"), ..base.clone() },
        ToolCall { opaque: opaque(Format::OpenaiResponses, "function_call"), ..base.clone() },
        ToolCall { opaque: opaque(Format::Gemini, "none"), ..base.clone() },
        ToolCall { opaque: opaque(Format::Pi, "toolCall"), ..base.clone() },
        // Cut off in the middle: no JSON.
        ToolCall { arguments: long.as_str().into(), arguments_text: Some(long.clone()), ..base },
    ];
    for one in ours {
        let mut shown = one;
        assert!(shorten(&mut shown, 100, 100), "{:?}", shown.opaque);
        let text = shown.arguments["text"].as_str().or(shown.arguments.as_str()).unwrap();
        assert!(is_placeholder(text), "{text}");
    }
}

#[test]
fn many_short_strings_give_way_to_the_ends_of_their_json() {
    let edits: Vec<Value> = (0..5_000).map(|n| json!({"old": format!("ä{n}"), "new": format!("b{n}")})).collect();
    let fields: serde_json::Map<String, Value> = (0..5_000).map(|n| (format!("f{n}"), json!("x"))).collect();
    for given in [
        json!({"path": "src/lib.rs", "edits": edits}),
        json!(fields),
        json!({"type": "exec", "command": (0..5_000).map(|n| format!("w{n}")).collect::<Vec<_>>(), "env": fields}),
        json!({"deep": {"deeper": {"deepest": edits}}}),
        json!("one word after another ".repeat(500)),
        json!(edits),
    ] {
        for keep in [4_000, 1_000, 200] {
            let mut shown = call(given.clone());
            let by_strings = shorten(&mut shown, keep - keep / 3, keep / 3);
            assert_eq!(by_strings, given.is_string());
            assert!(condense(&mut shown, keep - keep / 3, keep / 3) || by_strings);
            let text = shown.arguments.to_string();
            assert!(text.chars().count() < 6 * keep + 400, "{keep}: {}", text.len());
            assert_eq!(shown.arguments.is_object(), given.is_object());
            assert!(is_shortened(&shown));
            let once = shown.clone();
            condense(&mut shown, keep - keep / 3, keep / 3);
            assert_eq!(shown, once, "twice");
        }
    }
    let shown = |keep: usize| {
        let mut one = call(json!({"path": "src/lib.rs", "edits": edits}));
        condense(&mut one, keep - keep / 3, keep / 3);
        one.arguments
    };
    assert_eq!(shown(200)["path"], "src/lib.rs", "what tells the calls apart stays");
    let same = |one: &Value, other: &Value| one == other;
    assert!(is_condensed_of(&shown(200)["edits"], &json!(edits), same));
    assert!(!is_condensed_of(&shown(200)["edits"], &json!(edits[1..]), same));
    assert!(!is_condensed_of(&json!(["b"]), &json!(["b"]), same));
    let before = json!([format!("[{{\"old\":\n{SHORTENED}c1; original_characters=32]\n\"b\"}}]")]);
    assert!(
        is_condensed_of(&before, &json!([{"old": "aaaaaaaaaa", "new": "b"}]), same),
        "as earlier versions showed it"
    );
}

#[test]
fn a_list_keeps_the_form_of_its_items() {
    let files: Vec<Value> =
        (0..18).map(|n| json!({"path": format!("src/{n}.tsx"), "content": "import React;\n".repeat(80)})).collect();
    let mut shown = call(json!({"repo": "org/app", "files": files, "rows": [[1, 2]], "message": "first"}));
    assert!(condense(&mut shown, 200, 100));
    let list = shown.arguments["files"].as_array().unwrap();
    assert!(list.iter().all(|file| file["path"].is_string()), "{list:?}");
    assert_eq!(list[0]["path"], "src/0.tsx");
    assert!(list.len() < 5 && list[1]["path"].as_str().unwrap().starts_with(SHORTENED));
    let shows = |one: &Value, other: &Value| {
        one == other || {
            let same = |key: &str| {
                one[key] == other[key] || is_shown_of(one[key].as_str().unwrap(), other[key].as_str().unwrap())
            };
            same("path") && same("content")
        }
    };
    assert!(is_condensed_of(&shown.arguments["files"], &json!(files), shows));
    let mut other = files.clone();
    other[0] = json!({"path": "src/0.tsx", "content": "else"});
    assert!(!is_condensed_of(&shown.arguments["files"], &json!(other), shows));
    let rows = json!((0..200).map(|n| json!([n, n])).collect::<Vec<_>>());
    let mut shown = call(json!({"rows": rows, "tags": (0..200).map(|n| format!("tag {n}")).collect::<Vec<_>>()}));
    assert!(condense(&mut shown, 200, 100));
    assert!(shown.arguments["rows"].as_array().unwrap().iter().all(Value::is_array));
    assert!(shown.arguments["tags"].as_array().unwrap().iter().all(Value::is_string));
    assert_eq!((&shown.arguments["rows"][0], &shown.arguments["tags"][0]), (&json!([0, 0]), &json!("tag 0")));
}

#[test]
fn free_text_is_shortened_as_text() {
    let patch = format!("*** Begin Patch\n*** Update File: a.rs\n{}*** End Patch", "+line\n".repeat(200));
    let mut shown = ToolCall {
        kind: CallKind::Custom,
        arguments: patch.as_str().into(),
        arguments_text: Some(patch.clone()),
        ..call(Value::Null)
    };
    assert!(shorten(&mut shown, 300, 150));
    let text = shown.arguments_text.unwrap();
    assert_eq!(shown.arguments, Value::from(text.as_str()));
    assert!(text.starts_with("*** Begin Patch\n*** Update File: a.rs\n") && text.ends_with("*** End Patch"));
}

fn json_values() -> impl Strategy<Value = Value> {
    let text = prop_oneof![".{0,40}".boxed(), "[a-zü\n\"]{150,700}".boxed()];
    let leaf = prop_oneof![text.prop_map(Value::from), any::<i32>().prop_map(Value::from), Just(Value::Null)];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-d]", inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// The same JSON but for strings that are shorter.
fn same_shape(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((ka, va), (kb, vb))| ka == kb && same_shape(va, vb))
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_shape(a, b)),
        (Value::String(a), Value::String(b)) => a == b || (b.len() < a.len() && a.chars().count() > ALWAYS_WHOLE),
        _ => before == after,
    }
}

proptest! {
    #[test]
    fn the_json_keeps_its_shape(arguments in json_values(), head in 0usize..300, tail in 0usize..300) {
        let before = call(json!({ "value": arguments }));
        let mut shown = before.clone();
        let changed = shorten(&mut shown, head, tail);
        prop_assert_eq!(changed, shown != before);
        prop_assert!(same_shape(&before.arguments, &shown.arguments));
        let written: Value = serde_json::from_str(shown.arguments_text.as_deref().unwrap()).unwrap();
        prop_assert_eq!(&written, &shown.arguments);
        let mut twice = shown.clone();
        prop_assert!(!shorten(&mut twice, head, tail));
        prop_assert_eq!(twice, shown);
    }
}
