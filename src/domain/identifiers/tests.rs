use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::domain::summary::testing::{assistant, call, result, user};

#[test]
fn finds_each_sort() {
    let text = "See https://example.org/a?b=1, then `src/domain/lib.rs:42:7` and (Cargo.toml). Commit 9f8e7d6c5b, \
        ticket ABC-123, PR #77, user mia_li_3668, booking HAT069, call toolu_01AbC, v1.2.3, error[E0308] and HTTP 404, \
        ENOENT; it took 30 seconds or 250ms, 550e8400-e29b-41d4-a716-446655440000, and/or nothing, ValueError, $1,200.";
    let wanted = [
        "https://example.org/a?b=1",
        "src/domain/lib.rs",
        "Cargo.toml",
        "9f8e7d6c5b",
        "ABC-123",
        "#77",
        "mia_li_3668",
        "HAT069",
        "toolu_01AbC",
        "v1.2.3",
        "E0308",
        "HTTP 404",
        "ENOENT",
        "30 seconds",
        "250ms",
        "550e8400-e29b-41d4-a716-446655440000",
        "ValueError",
    ];
    let found = extract(text);
    for identifier in wanted {
        assert!(found.iter().any(|one| one == identifier), "{identifier} in {found:?}");
    }
    assert!(!found.iter().any(|one| one.contains("and/or") || one == "nothing"));
}

#[test]
fn hears_the_users_rules() {
    let text = "Please fix the bug. Never touch the public API. You must run the tests! Do we need docs?";
    assert_eq!(rules(text), ["Never touch the public API.", "You must run the tests!"]);
    assert!(rules("Fix it quickly. I don't remember the number.").is_empty());
    assert_eq!(rules("Don't remove the cache."), ["Don't remove the cache."]);
}

#[test]
fn ranks_speech_over_output() {
    let messages = [
        user("Work on src/main.rs. Never push to main."),
        call("c", "read", json!({"path": "src/main.rs"})),
        result("c", "see other/file.rs and third/file.rs"),
        assistant("The bug is in src/main.rs, tracked as ABC-9."),
    ];
    let wanted = extract_span(&messages);
    assert_eq!(&wanted[..3], ["Never push to main.", "src/main.rs", "ABC-9"]);
    assert!(wanted.contains(&"other/file.rs".to_owned()));
}

#[test]
fn measures_and_restores() {
    let wanted: Vec<String> = ["#12", "src/a.rs", "Never push to main."].map(str::to_owned).to_vec();
    let (missing, report) = check("Issue #123 in src/a.rs; never push\nto main", &wanted);
    assert_eq!(missing, ["#12"]);
    assert_eq!((report.found, report.kept), (3, 2));
    let restored = restore(&wanted, 100).expect("fits");
    assert_eq!(restored.block, "## Identifiers\n- \"Never push to main.\"\n#12, src/a.rs");
    assert_eq!(check(&restored.block, &wanted).1.recall, 1.0);
    assert_eq!(restore(&wanted, 3), None);
    assert_eq!(restore(&[], 100), None);
}

#[test]
fn carries_rules_through_any_number_of_compactions() {
    let mut carried = carry(&[], vec!["Never push to main.".into(), "first/file.rs".into()]);
    for round in 0..10 {
        let new = (0..60).map(|at| format!("src/r{round}/f{at}.rs")).collect();
        carried = carry(&carried, new);
    }
    assert_eq!(carried.len(), MAX_WANTED);
    assert_eq!(carried[0], "Never push to main.");
    assert_eq!(carried[1], "src/r9/f0.rs");
}

#[test]
fn a_megabyte_is_no_trouble() {
    for piece in ["a", "a1b2c3d-", "://", "/a", "\"", "1 ", "日"] {
        let text = piece.repeat(1_000_000 / piece.len());
        assert!(extract(&text).len() <= MAX_WANTED);
    }
}

proptest! {
    #[test]
    fn what_is_restored_is_found_again(text in "([a-zA-Z0-9_/.#:-]{1,12}[ ,\n]){0,40}", max_tokens in 0u32..200) {
        let wanted = extract(&text);
        if let Some(restored) = restore(&wanted, max_tokens) {
            prop_assert!(restored.block.len() <= max_tokens as usize * 4);
            let (missing, _) = check(&restored.block, &wanted);
            prop_assert!(missing.len() + restored.count as usize <= wanted.len());
        }
    }

    #[test]
    fn never_panics(text in any::<String>()) {
        extract(&text);
        rules(&text);
    }
}
