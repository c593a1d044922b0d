use proptest::prelude::*;

use super::*;

fn message(text: &str, weight: u32, at: u128) -> TrackedIdentifier {
    let entry = Some(Uuid::from_u128(at));
    TrackedIdentifier { kind: IdentifierKind::Message, weight, ..TrackedIdentifier::request(text, entry) }
}

fn request(text: &str) -> TrackedIdentifier {
    TrackedIdentifier::request(text, Some(Uuid::from_u128(99)))
}

fn shown(rules: &[TrackedIdentifier], said: &[TrackedIdentifier], room: usize) -> (Vec<String>, Vec<String>) {
    let missing: Vec<&TrackedIdentifier> = rules.iter().chain(said).collect();
    let words = UsersWords::fitting(&missing, room);
    (words.rules.into_iter().map(|rule| rule.text.clone()).collect(), words.messages)
}

#[test]
fn all_are_shown_where_there_is_room() {
    let mut reply = request("no");
    reply.asked = Some("Shall I drop it?".into());
    let said = [
        message("Look at it.", LIGHT, 1),
        message("Use tabs.", WEIGHTY, 2),
        message("Fix a.rs. Never push.", WEIGHTY, 2),
        reply,
    ];
    let rules = [TrackedIdentifier::rule("Never push."), TrackedIdentifier::rule("Use tabs.")];
    let (rules, messages) = shown(&rules, &said, 2_000);
    assert_eq!(rules, ["Use tabs."], "the other is said by its message");
    assert_eq!(
        messages,
        ["- \"Look at it.\"", "- \"Fix a.rs. Never push.\"", "- (the agent asked: \"Shall I drop it?\") \"no\""]
    );
}

#[test]
fn long_old_ones_are_shortened_before_short_ones_go() {
    let long = "a word and another word ".repeat(60);
    let said = [message(&long, LIGHT, 1), message("Look at it.", LIGHT, 2), request("Fix the parser now.")];
    let (_, messages) = shown(&[], &said, 600);
    assert_eq!(messages.len(), 3);
    assert!(messages[0].contains(&format!("characters left out, whole in entry {} …]", Uuid::from_u128(1))));
    assert_eq!(messages[1..], ["- \"Look at it.\"", "- \"Fix the parser now.\""]);
}

#[test]
fn what_weighs_more_stays_longer_and_what_goes_is_stated() {
    let said: Vec<TrackedIdentifier> = (0..9)
        .map(|at| message(&format!("Message {at} of them."), if at == 3 { WEIGHTY } else { LIGHT }, at))
        .chain([request("Fix the parser now.")])
        .collect();
    let (_, messages) = shown(&[], &said, 260);
    let gap = |count: u32, at| format!("- ({count} left out, from entry {} on)", Uuid::from_u128(at));
    assert_eq!(
        messages,
        [
            gap(3, 0),
            "- \"Message 3 of them.\"".into(),
            gap(4, 4),
            "- \"Message 8 of them.\"".into(),
            "- \"Fix the parser now.\"".into()
        ]
    );
    assert!(shown(&[], &said, 20).1.is_empty(), "no room for anything");
}

#[test]
fn a_rule_of_a_message_that_goes_is_shown_by_itself() {
    let long = format!("{}Never push to main. {}", "a word and ".repeat(60), "another word ".repeat(60));
    let rule = [TrackedIdentifier::rule("Never push to main.")];
    let said = [message(&long, WEIGHTY, 1), request("Fix the parser now.")];
    assert_eq!(shown(&rule, &said, 500).0, ["Never push to main."]);
    assert_eq!(shown(&rule, &said, 9_000).0, ["Never push to main."], "the message is a paste");
    let said = [message(&said[0].text[..900], WEIGHTY, 1), request("Fix the parser now.")];
    assert!(shown(&rule, &said, 3_000).0.is_empty());
}

#[test]
fn newest_requests_that_take_the_room_leave_some_to_state_what_is_left_out() {
    let long = request(&"a word and another word ".repeat(100));
    let said = [message("Look at it.", LIGHT, 1), long.clone(), message("Now here.", LIGHT, 2), long];
    for room in [600, 1_000, 2_000] {
        let (_, messages) = shown(&[], &said, room);
        let left_out = |at| format!("- (1 left out: entry {})", Uuid::from_u128(at));
        let stated = |text: &str, at| messages.iter().any(|line| line.contains(text) || *line == left_out(at));
        assert!(stated("Look at it.", 1) && stated("Now here.", 2), "{room}: {messages:?}");
        assert_eq!(messages.len(), 4);
    }
}

#[test]
fn a_record_is_bounded() {
    let said: Vec<TrackedIdentifier> =
        (0..500).map(|at| message(&format!("{at} {}", "word ".repeat(100)), LIGHT, at)).collect();
    let carried = bounded(said);
    let left_out: u32 = carried.iter().filter(|one| one.kind == IdentifierKind::LeftOut).map(|one| one.weight).sum();
    let messages = carried.iter().filter(|one| one.kind == IdentifierKind::Message);
    assert_eq!(messages.clone().count() + left_out as usize, 500);
    assert!(messages.count() <= MOST_CARRIED && carried.iter().map(size).sum::<usize>() <= CARRIED);
    assert_eq!(bounded(carried.clone()), carried);
}

proptest! {
    #[test]
    fn no_more_than_the_room_is_taken(
        said in prop::collection::vec(("[a-z日 ]{0,400}", 1_u32..3, any::<bool>()), 0..30),
        room in 0_usize..3_000,
    ) {
        let said: Vec<TrackedIdentifier> = said.iter().enumerate().map(|(at, (text, weight, newest))| match newest {
            true if at > 26 => request(text),
            _ => message(text, *weight, at as u128),
        }).collect();
        let (_, messages) = shown(&[], &said, room);
        let taken: usize = messages.iter().map(|line| quarters(line) + 1).sum();
        prop_assert!(taken <= room);
        let left_out: usize = messages.iter().filter_map(|line| line.strip_prefix("- (")?.split(' ').next()?.parse::<usize>().ok()).sum();
        let stated = messages.iter().filter(|line| line.starts_with("- \"")).count() + left_out;
        prop_assert!(stated <= said.len());
        if room > 1_000 && !said.is_empty() {
            prop_assert_eq!(stated, said.len());
        }
    }
}
