use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[\\[\\]{}\"\\\\a\n]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(8, 64, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[\\[{\"\\\\b]{0,4}", inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn true_depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(true_depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(true_depth).max().unwrap_or(0),
        _ => 0,
    }
}

proptest! {
    #[test]
    fn depth_is_that_of_the_parsed_value(value in value(), pretty in any::<bool>()) {
        let text = if pretty { format!("{value:#}") } else { value.to_string() };
        prop_assert_eq!(depth(text.as_bytes()), true_depth(&value));
    }

    #[test]
    fn lenient_parsing_agrees_with_strict_parsing(value in value()) {
        prop_assert_eq!(parse_lenient(&value.to_string()), Ok(value));
    }

    #[test]
    fn nothing_panics(text in "[\\\\uUdDcC8fF\"\\[{é ]{0,40}") {
        let _ = (depth(text.as_bytes()), parse_lenient(&text));
    }
}

#[test]
fn depth_takes_deep_input() {
    let raw = "[".repeat(2_000_000);
    assert_eq!(depth(raw.as_bytes()), 2_000_000);
    assert_eq!(depth(br#""[[[\"[""#), 0);
}

#[test]
fn surrogates_without_partner_become_the_replacement_character() {
    let parsed = |raw: &str| parse_lenient(raw).unwrap();
    assert_eq!(parsed(r#""a\ud83db""#), json!("a\u{fffd}b"));
    assert_eq!(parsed(r#""\udc00\ud83d""#), json!("\u{fffd}\u{fffd}"));
    assert_eq!(parsed(r#""\uD83D\uDE00\ud83d\ud83d\ude00""#), json!("😀\u{fffd}😀"));
    assert_eq!(parsed(r#""\\ud83d""#), json!("\\ud83d"));
    assert_eq!(parsed(r#"{"\ud800":1}"#), json!({"\u{fffd}": 1}));
}

#[test]
fn odd_numbers_nulls_and_depth_are_read() {
    assert_eq!(parse_lenient("1e400").unwrap().to_string(), "1e+400");
    assert_eq!(parse_lenient(r#""\u0000""#), Ok(json!("\0")));
    let nested = format!("{}{}", "[".repeat(127), "]".repeat(127));
    assert!(parse_lenient(&nested).is_ok());
    let deeper = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    assert!(parse_lenient(&deeper).is_err());
}

#[test]
fn lengths_are_those_of_javascript() {
    let cases = [
        (r#"{"path":"a","n":[1,2.50,-0,true,false,null]}"#, r#"{"path":"a","n":[1,2.5,0,true,false,null]}"#),
        ("9007199254740993", "9007199254740992"),
        ("123456789012345678901234", "1.2345678901234568e+23"),
        ("1e21", "1e+21"),
        ("1E-7", "1e-7"),
        ("1e400", "null"),
        (r#""\u0001\u0008\u000c\n\"\/\u2028é""#, "\"\\u0001\\b\\f\\n\\\"/\u{2028}é\""),
        (r#""😀""#, "\"😀\""),
        ("[]", "[]"),
        ("{}", "{}"),
    ];
    for (raw, printed) in cases {
        let expected = printed.encode_utf16().count();
        assert_eq!(js_stringify_len(&parse_lenient(raw).unwrap()), expected, "{raw}");
    }
}
