use std::iter;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::model::entry_type::EntryType;

fn finds(query: &str, text: &str) -> bool {
    ParsedQuery::parse(query).unwrap().score(text).is_some_and(|score| score.has_all())
}

fn rank(query: &str, text: &str) -> u32 {
    ParsedQuery::parse(query).unwrap().score(text).map_or(0, |score| TermRarity::even().rank(&score))
}

#[test]
fn words_are_found_in_identifiers_paths_and_other_scripts() {
    for (query, text) in [
        ("timeout", "raise ConnectTimeout(30)"),
        ("TIMEOUT", "connect_timeout = 30"),
        ("server", "class HTTPServer:"),
        ("error", "two errors"),
        ("src/a.rs", "read ./src/a.rs:12"),
        ("E0502", "error[E0502]: cannot borrow"),
        ("--flag", "run --flag=1"),
        ("01abc", "call toolu_01ABCdef"),
        ("超时", "连接超时了"),
        ("ошибка", "Ошибка сети"),
        ("\"fix  the bug\"", "we fix\n  the bug here"),
        ("the\u{0}bug", "the\u{0}bug"),
        ("naïve", "a NAÏVE plan"),
        ("30", "timeout30"),
    ] {
        assert!(finds(query, text), "{query:?} in {text:?}");
    }
}

#[test]
fn other_words_and_other_numbers_are_not_found() {
    for (query, text) in [
        ("art", "start"),
        ("needle-1", "needle-17"),
        ("v1.2", "v1.25"),
        ("\"fix bug\"", "fix the bug"),
        ("alpha beta", "alpha only"),
        ("port", "import report"),
    ] {
        assert!(!finds(query, text), "{query:?} in {text:?}");
    }
}

#[test]
fn whole_words_rank_above_beginnings_and_short_texts_above_long_ones() {
    assert!(rank("error", "an error") > rank("error", "errors errors errors errors"));
    assert!(rank("error", "an error") > rank("error", &format!("an error {}", "and more ".repeat(500))));
    let long = format!("error {}", "and more ".repeat(5_000));
    assert!(rank("error", &long) > rank("error", "errors"));
    assert!((1..=1_000_000).contains(&rank("error", &"error ".repeat(10_000))));
    let part = ParsedQuery::parse("alpha beta").unwrap().score("beta").unwrap();
    assert!(!part.has_all() && TermRarity::even().rank(&part) > 0);
}

#[test]
fn terms_that_stand_together_rank_above_the_same_apart() {
    let between = "and more of it ".repeat(40);
    let (near, apart) = (format!("a retry limit {between}"), format!("a retry {between} limit"));
    assert!(rank("retry limit", &near) > rank("retry limit", &apart));
    assert!(rank("retry limit", &apart) > 500_000, "every term is a whole word");
}

#[test]
fn of_texts_with_some_of_the_terms_those_with_the_rarer_ones_rank_first() {
    let query = ParsedQuery::parse("the file flock").unwrap();
    let texts = iter::once("flock").chain(iter::repeat_n("the file", 40));
    let scores: Vec<Score> = texts.filter_map(|text| query.score(text)).collect();
    let rarity = TermRarity::of(&scores, 60);
    assert!(rarity.rank(&scores[0]) > rarity.rank(&scores[1]));
    assert!(TermRarity::even().rank(&scores[0]) < TermRarity::even().rank(&scores[1]));
}

#[test]
fn a_query_has_limits() {
    assert_eq!(ParsedQuery::parse(" \"\" \" "), Err(QueryError::Empty));
    assert_eq!(ParsedQuery::parse(&"x".repeat(1_001)), Err(QueryError::TooLong));
    let many: String = (0..33).map(|n| format!("w{n} ")).collect();
    assert_eq!(ParsedQuery::parse(&many), Err(QueryError::TooManyTerms));
    assert_eq!(ParsedQuery::parse(&"same ".repeat(100)).map(|query| query.is_single()), Ok(true));
}

#[test]
fn a_snippet_marks_the_densest_place_on_one_line() {
    let text = format!("alpha {}\n\tthe alpha\nbeta of it, {}", "x ".repeat(400), "y ".repeat(400));
    let shown = ParsedQuery::parse("alpha beta").unwrap().snippet(&text);
    assert!(shown.contains("the <mark>alpha beta</mark> of it"), "{shown}");
    assert!(shown.starts_with('…') && shown.ends_with('…') && shown.chars().count() < 530, "{shown}");
    let shown = ParsedQuery::parse("\"超时\"").unwrap().snippet("连接超时了");
    assert_eq!(shown, "连接<mark>超时</mark>了");
}

#[test]
fn a_snippet_shows_the_match_wherever_it_stands_in_a_line_of_a_megabyte() {
    let (word, wide) = ("/x".repeat(300_000), "超".repeat(300_000));
    for filler in [word.as_str(), &wide, &"word ".repeat(200_000), &" ".repeat(1_000_000), &"<mark>".repeat(170_000)] {
        for (before, behind) in [(filler, ""), ("", filler), (filler, filler), (filler, "!"), ("é", filler)] {
            let text = format!("{before} needle.{behind}");
            let shown = ParsedQuery::parse("NEEDLE").unwrap().snippet(&text);
            assert!(shown.contains("<mark>needle</mark>."), "{shown}");
            assert!(shown.len() < 700, "{shown}");
        }
        let apart = format!("first {filler} second third {filler}");
        let shown = ParsedQuery::parse("first second third").unwrap().snippet(&apart);
        assert!(shown.contains("<mark>second third</mark>"), "the most of the query: {shown}");
    }
}

#[test]
fn a_match_longer_than_a_snippet_is_marked_as_far_as_it_is_shown() {
    let words = "lorem ipsum dolor ".repeat(55);
    let long = "é".repeat(900);
    for (query, text) in [
        (format!("\"{words}\""), format!("{}{words}{}", "a ".repeat(2_000), "b ".repeat(2_000))),
        (long.clone(), format!("{}{long} {}", "a ".repeat(2_000), "b ".repeat(2_000))),
        ("\"lorem ipsum\"".to_owned(), format!("{}lorem{}ipsum", "a ".repeat(2_000), "\n".repeat(1_000_000))),
    ] {
        let shown = ParsedQuery::parse(&query).unwrap().snippet(&text);
        assert!(shown.contains("<mark>lorem") || shown.contains("<mark>é"), "{shown}");
        assert!(shown.len() < 1_100, "{shown}");
    }
}

#[test]
fn the_text_of_an_item_is_what_was_said() {
    let call = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "call_9", "type": "function",
        "function": {"name": "bash", "arguments": "{\"cmd\":\"cargo test\\nfoo\",\"type\":\"x\",\"n\":[12]}"}}]});
    assert_eq!(text_of(EntryType::Message, &call.to_string()), "call_9\nbash\ncargo test\nfoo\nx\n12\n");
    let media = json!({"role": "user", "content": [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD".repeat(200)}},
        {"type": "text", "text": format!("{}\nlisted", "src\n".repeat(300))},
        {"type": "thinking", "thinking": "hmm", "signature": "abc", "at": 7}]});
    let text = text_of(EntryType::Message, &media.to_string());
    assert!(text.starts_with("base64\nsrc\n") || text.starts_with("src\n"), "{}", &text[..20]);
    assert!(text.ends_with("listed\nhmm\n") && !text.contains("QUJD"), "{text}");
    let compaction = json!({"type": "compaction", "summary": "the sum", "summary_body": "the body"});
    assert_eq!(text_of(EntryType::Compaction, &compaction.to_string()), "the sum");
    assert_eq!(text_of(EntryType::Message, r#"{"content":"a\ud800\u0000b"}"#), "a\u{fffd}\u{0}b\n");
    assert_eq!(text_of(EntryType::Message, "no json"), "no json");
}

/// The raw JSON as the database lowers it.
fn passes(query: &ParsedQuery, raw: &str) -> bool {
    let lowered = raw.to_ascii_lowercase();
    lowered.contains("\\u") || query.probes().iter().flatten().all(|probe| lowered.contains(probe.as_str()))
}

proptest! {
    #[test]
    fn what_matches_passes_the_probes(text in "\\PC{0,40}", from in 0usize..40, to in 0usize..40, escape in any::<bool>()) {
        let chars: Vec<char> = text.chars().collect();
        let part: String = chars.get(from.min(to)..from.max(to).min(chars.len())).unwrap_or_default().iter().collect();
        let Ok(query) = ParsedQuery::parse(&part.to_uppercase()) else { return Ok(()) };
        let raw = json!({"role": "user", "content": text.clone()}).to_string();
        let raw = if escape { raw.chars().map(|c| if c.is_ascii() { c.to_string() } else { c.escape_default().to_string() }).collect() } else { raw };
        let said = text_of(EntryType::Message, &raw);
        if query.score(&said).is_some_and(|score| score.has_all()) {
            prop_assert!(passes(&query, &raw));
            let shown = query.snippet(&said);
            prop_assert!(shown.contains("<mark>"), "{}", shown);
        }
    }

    #[test]
    fn any_text_and_query_are_taken(text in any::<String>(), query in any::<String>()) {
        if let Ok(query) = ParsedQuery::parse(&query) {
            query.score(&text);
            query.snippet(&text);
        }
    }
}
