use super::*;

const ENTRY: Uuid = Uuid::from_u128(7);

fn span(said: &[(&str, bool)]) -> Requests {
    let mut requests = Requests::default();
    said.iter().for_each(|(text, stands)| requests.note(text, Some(ENTRY), *stands));
    requests
}

/// The newest requests, and what was said before them.
fn carried_of(said: &[(&str, bool)], earlier: &[&str]) -> (Vec<String>, Vec<String>) {
    let earlier: Vec<TrackedIdentifier> = earlier.iter().map(|text| TrackedIdentifier::request(*text, None)).collect();
    let carried = span(said).into_carried(&earlier);
    let (newest, older): (Vec<_>, Vec<_>) = carried.into_iter().partition(|one| one.kind == IdentifierKind::Request);
    let texts = |list: Vec<TrackedIdentifier>| list.into_iter().map(|one| one.text).collect();
    (texts(newest), texts(older))
}

#[test]
fn three_requests_are_the_newest_whoever_said_yes_between() {
    let said = ["fix the parser", "write the docs", "run all the tests", "yes", "check the logs now"];
    let said: Vec<(&str, bool)> = said.iter().map(|text| (*text, false)).collect();
    let (newest, older) = carried_of(&said, &[]);
    assert_eq!(newest, ["write the docs", "run all the tests", "yes", "check the logs now"]);
    assert_eq!(older, ["fix the parser"]);
    let nods: Vec<String> = (0..9).map(|at| format!("ok {at}")).collect();
    let nods: Vec<(&str, bool)> = nods.iter().map(|text| (text.as_str(), false)).collect();
    let (newest, older) = carried_of(&nods, &["an older request"]);
    assert_eq!((newest.len(), older.len()), (MOST, 4));
}

#[test]
fn what_still_stands_needs_no_carrying_and_counts() {
    let none = Vec::<String>::new();
    assert_eq!(
        carried_of(&[("the second thing", false), ("the third thing", true)], &["the first thing"]),
        (vec!["the first thing".to_owned(), "the second thing".to_owned()], none.clone())
    );
    let tail = [("one more thing to do", true), ("another thing to do", true), ("the last thing to do", true)];
    let (newest, older) = carried_of(&tail, &["the first thing"]);
    assert_eq!((newest, older), (none, vec!["the first thing".to_owned()]), "newer ones came before it");
    assert_eq!(carried_of(&[("the first thing", true)], &["the first thing", "and this too"]).0, ["and this too"]);
}

#[test]
fn rules_corrections_and_numbers_weigh_more() {
    assert_eq!(weight("Fix the parser. Never push to main."), words::STRICT);
    for text in ["I prefer short names.", "No, the other one, please.", "it took 12 seconds"] {
        assert_eq!(weight(text), words::WEIGHTY, "{text}");
    }
    assert_eq!(weight("Please look at the parser and tell me what it does."), words::LIGHT);
}

#[test]
fn a_short_reply_is_carried_with_what_it_answers() {
    let mut requests = Requests::default();
    requests.answered("The table is old. Shall I drop it?");
    requests.note("no", Some(ENTRY), false);
    requests.note("not now", Some(ENTRY), false);
    requests.answered("Kept it.");
    requests.note("thanks", Some(ENTRY), false);
    requests.answered("Which of them next?");
    let carried = requests.into_carried(&[]);
    let asked: Vec<_> = carried.iter().map(|one| (one.text.as_str(), one.asked.as_deref())).collect();
    let both = [("no", Some("Shall I drop it?")), ("not now", Some("Shall I drop it?"))];
    assert_eq!(asked, [both[0], both[1], ("thanks", None), ("Which of them next?", None)]);
    let mut later = Requests::default();
    later.note("Work on the parser of the service, please.", None, true);
    later.note("the second", Some(ENTRY), false);
    later.note("and then the third", Some(ENTRY), false);
    let carried = later.into_carried(&carried);
    let last: Vec<_> = carried.iter().rev().take(2).map(|one| (one.text.as_str(), one.asked.as_deref())).collect();
    assert_eq!(last, ["and then the third", "the second"].map(|text| (text, Some("Which of them next?"))));
    let mut unasked = Requests::default();
    unasked.answered("I chose one.");
    unasked.note("ok", None, false);
    let earlier = [TrackedIdentifier::question("Which of them next?".to_owned())];
    assert_eq!(unasked.into_carried(&earlier)[0].asked, None, "the agent went on before");
}

#[test]
fn ten_thousand_messages_are_counted_where_they_are_not_carried() {
    let mut requests = Requests::default();
    for at in 0..10_000_u32 {
        requests.note(&format!("Please do the work of part {at}."), Some(Uuid::from_u128(at.into())), false);
    }
    let carried = requests.into_carried(&[]);
    let left_out: Vec<_> = carried.iter().filter(|one| one.kind == IdentifierKind::LeftOut).collect();
    let sum: u32 = left_out.iter().map(|one| one.weight).sum();
    assert_eq!(carried.len() - left_out.len() + sum as usize, 10_000);
    assert_eq!((left_out.len(), left_out[0].entry), (1, Some(Uuid::from_u128(0))));
    assert!(carried.len() <= words::MOST_CARRIED + 1);
}

#[test]
fn what_still_stands_counts_as_the_newest_when_many_are_let_go() {
    let gone: Vec<String> = (0..HELD).map(|at| format!("the request number {at}")).collect();
    let tail = [("one more thing to do", true), ("another thing to do", true), ("the last thing to do", true)];
    let said: Vec<(&str, bool)> = gone.iter().map(|text| (text.as_str(), false)).chain(tail).collect();
    assert_eq!(carried_of(&said, &[]).0, Vec::<String>::new(), "newer ones stand by themselves");
}
