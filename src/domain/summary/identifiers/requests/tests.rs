use proptest::prelude::*;

use super::*;

const ENTRY: Uuid = Uuid::from_u128(7);

fn carried_of(said: &[(&str, bool)], earlier: &[&str]) -> Vec<String> {
    let earlier: Vec<TrackedIdentifier> = earlier.iter().map(|text| TrackedIdentifier::request(*text, None)).collect();
    let mut requests = Requests::default();
    said.iter().for_each(|(text, stands)| requests.note(text, Some(ENTRY), *stands));
    requests.into_carried(&earlier).into_iter().map(|one| one.text).collect()
}

#[test]
fn three_requests_are_carried_whoever_said_yes_between() {
    let said = ["fix the parser", "write the docs", "run all the tests", "yes", "check the logs now"];
    let said: Vec<(&str, bool)> = said.iter().map(|text| (*text, false)).collect();
    assert_eq!(carried_of(&said, &[]), ["write the docs", "run all the tests", "yes", "check the logs now"]);
    let nods: Vec<String> = (0..9).map(|at| format!("ok {at}")).collect();
    let nods: Vec<(&str, bool)> = nods.iter().map(|text| (text.as_str(), false)).collect();
    assert_eq!(carried_of(&nods, &["an older request"]).len(), MOST);
}

#[test]
fn what_still_stands_needs_no_carrying_and_counts() {
    assert_eq!(
        carried_of(&[("the second thing", false), ("the third thing", true)], &["the first thing"]),
        ["the first thing", "the second thing"]
    );
    let tail = [("one more thing to do", true), ("another thing to do", true), ("the last thing to do", true)];
    assert_eq!(carried_of(&tail, &["the first thing"]), Vec::<String>::new(), "newer ones pushed it out");
    assert_eq!(carried_of(&[("the first thing", true)], &["the first thing", "and this too"]), ["and this too"]);
}

#[test]
fn long_ones_are_told_by_head_and_tail() {
    let said = format!("{}THE END", "many words ".repeat(900));
    let request = carried(&said, Some(ENTRY));
    let (head, left_out, tail) = at_gap(&request.text);
    assert!(said.starts_with(head) && said.ends_with(tail) && tail.ends_with("THE END"));
    assert_eq!(head.len() + left_out + tail.len(), said.len());
    assert_eq!(head.len() + tail.len(), MAX_CHARS);
    assert!(request.text.contains(&ENTRY.to_string()));
    let shorter = fitted(&request, 600).unwrap();
    let (head, left_out, tail) = at_gap(&shorter);
    assert!(quarters(&shorter) <= 600 && said.starts_with(head) && said.ends_with(tail), "{shorter}");
    assert_eq!(head.len() + left_out + tail.len(), said.len());
    assert_eq!(fitted(&request, 100), None);
    let whole = carried("fix it", None);
    assert_eq!((whole.text.as_str(), fitted(&whole, 6)), ("fix it", Some("fix it".to_owned())));
}

proptest! {
    #[test]
    fn what_is_left_out_is_counted(said in "([a-zé日 ]{1,40}\n?){0,90}", room in 0_usize..3_000) {
        let request = carried(&said, Some(ENTRY));
        if let Some(text) = fitted(&request, room) {
            prop_assert!(quarters(&text) <= room);
            let (head, left_out, tail) = at_gap(&text);
            prop_assert_eq!(head.chars().count() + left_out + tail.chars().count(), said.trim().chars().count());
            prop_assert!(said.trim().starts_with(head) && said.trim().ends_with(tail));
        }
    }
}
