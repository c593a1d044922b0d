use super::super::testing::said;
use super::super::{RecordItem, RecordParts, RecordPlace, write};
use super::*;

fn told(messages: &[Message], running: usize, kept: &[Message], room: u64) -> String {
    let place = |at: usize| if at == running { RecordPlace::Running } else { RecordPlace::Told };
    let before: Vec<RecordItem<'_>> =
        messages.iter().enumerate().map(|(at, message)| RecordItem::Message(message, place(at))).collect();
    let parts = RecordParts { before: &before, kept, ..RecordParts::default() };
    write(&parts, room, |text| text.len() as u64 / 4)
}

#[test]
fn what_a_program_says_each_time_gives_way_to_what_it_says_once() {
    let ends = [
        "Exec denied by the gateway: approval-timeout, the command was never run.",
        "Exec finished with code 0, the file notes.txt has been written.",
        "Ausführung abgebrochen: die Erlaubnis kam nicht rechtzeitig an.",
        "実行は拒否されました。承認の期限が切れたため、コマンドは動いていません。",
        "Exec denied by the gateway: no one answered on the other side.",
    ];
    let lead = "An async command that the user has approved before has completed by now. ".repeat(2);
    let tail = "Do not run the same command again unless the user says so, and reply in a helpful way to the user. \
                If it went well share what matters of the output, and if it failed explain what went wrong there. "
        .repeat(3);
    let mut messages = Vec::new();
    for end in ends {
        messages.push(said(Role::User, &format!("{lead}\n{end}\n{tail}")));
        messages.push(said(Role::Assistant, "I see."));
    }
    messages.push(said(Role::User, "Please write the report now."));
    messages.push(said(Role::Assistant, "I will write the report about what the gateway said. ".repeat(40).trim()));
    let text = told(&messages, usize::MAX, &[], 420);
    for end in ends {
        assert!(text.contains(end), "{end}\n{text}");
    }
    assert!(text.matches("Do not run the same").count() <= 2, "{text}");
}

#[test]
fn what_is_repeated_is_told_by_its_beginning() {
    let beat = "Read the file HEARTBEAT.md if it is there and follow it strictly. Do not repeat old tasks from chats \
                that came before. If nothing needs attention, reply HEARTBEAT_OK and nothing else.";
    let mut messages = Vec::new();
    for _ in 0..6 {
        messages.push(said(Role::User, beat));
        messages.push(said(Role::Assistant, "HEARTBEAT_OK"));
    }
    let text = told(&messages, usize::MAX, &[], 2_000);
    assert_eq!(text.matches("reply HEARTBEAT_OK and nothing else").count(), 1, "{text}");
    assert_eq!(text.matches("(the same words as u6)").count(), 5, "{text}");
}

#[test]
fn notes_of_one_label_are_told_short_but_for_the_newest() {
    let note = |n: usize| {
        let reasons =
            (0..6).map(|at| format!("'{at}. Step {at} of round {n} still waits for what warehouse {n}{at} says.'"));
        format!("Subtasks reason: [{}]", reasons.collect::<Vec<_>>().join(", "))
    };
    let ask = "Please keep the blue desk, do not touch order W77, send the lamp to Turku, charge the Visa alone, call \
               before eight, take the old one along and write me once the lamp has left your house in Oulu.";
    let mut messages = vec![said(Role::User, ask), said(Role::Assistant, "I have noted that.")];
    for n in 0..5 {
        messages.push(said(Role::User, &note(n)));
        messages.push(said(Role::Assistant, "Going on."));
        messages.push(said(Role::User, &format!("And what of parcel {n}?")));
        messages.push(said(Role::Assistant, "It is on its way."));
        messages.push(said(Role::User, &format!("Good, then send number {n} too.")));
    }
    let text = told(&messages, usize::MAX, &[], 900);
    assert!(text.contains("call before eight, take the old one along"), "{text}");
    assert!(text.contains("waits for what warehouse 43 says"), "{text}");
    assert!(!text.contains("waits for what warehouse 13 says"), "{text}");
}

/// Six messages that begin so, each with what it forbids.
fn told_of_six(opening: impl Fn(usize) -> String) -> String {
    let rest = |n: usize| {
        format!("It has to load in {n} ms on the phone of Mrs. Li, without a cookie {n} and without the font F{n}.")
    };
    let messages: Vec<Message> = (0..6).map(|n| said(Role::User, &format!("{} {}", opening(n), rest(n)))).collect();
    told(&messages, usize::MAX, &[], 700)
}

#[test]
fn people_who_begin_alike_are_heard() {
    let text = told_of_six(|n| {
        format!("Hello,\nplease add page {n} with the colours of brand {n}, and never touch the footer of page {n}.")
    });
    for n in 0..6 {
        assert!(text.contains(&format!("never touch the footer of page {n}")), "{text}");
    }
}

/// A gateway puts the name of who writes before each message.
#[test]
fn what_all_messages_begin_with_makes_none_of_them_a_programs() {
    let text = told_of_six(|n| {
        format!("Message from Anna Virtanen: page {n} gets the colours of brand {n}, and nobody touches footer {n}.")
    });
    for n in 0..6 {
        assert!(text.contains(&format!("nobody touches footer {n}")), "{text}");
    }
}

#[test]
fn what_the_running_request_holds_is_not_told_twice() {
    let answer = "The plan has three parts.\nFirst the staking of what lies idle, for about five in a hundred.\n\
                  Then the grid bot, with a stop below the last low.\nAt last the referral codes, as far as they go.";
    let messages = [
        said(Role::User, "How does one earn here?"),
        said(Role::Assistant, answer),
        said(Role::User, &format!("Replied message:\n{answer}\nMake a PDF of it.")),
    ];
    let text = told(&messages, 2, &[], 2_000);
    assert!(text.contains("Agent: [stands below]"), "{text}");
    assert!(!text.contains("grid bot"), "{text}");
    // In a line or two it is not worth a mark, and where nothing stands below it is told.
    let brief = [said(Role::Assistant, "Then the grid bot."), said(Role::User, "Then the grid bot.\nDo it.")];
    assert!(told(&brief, 1, &[], 2_000).contains("Agent: Then the grid bot."));
    assert!(told(&messages, usize::MAX, &[], 2_000).contains("grid bot"));
}

#[test]
fn what_is_kept_behind_the_record_gives_way_in_it() {
    let pasted = (0..30).map(|n| format!("The card of branch {n} shows its hours and its street in line {n}."));
    let pasted = pasted.collect::<Vec<_>>().join("\n");
    let ask = "Keep the price of the second card at 12 euros, whatever the table says.";
    let messages = [said(Role::User, &format!("Please put this in.\n{pasted}\n{ask}\nThank you for it.\n{pasted}"))];
    let kept = [said(Role::Assistant, &pasted)];
    assert!(told(&messages, usize::MAX, &kept, 120).contains(ask));
}
