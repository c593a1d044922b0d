mod now;
mod places;

use serde_json::json;

use super::testing::{call, call_with, flagged, result, said};
use super::*;
use crate::model::format::Format;
use crate::model::message::Role;

fn written(messages: &[Message], room: u64) -> String {
    let before: Vec<RecordItem<'_>> =
        messages.iter().map(|message| RecordItem::Message(message, RecordPlace::Told)).collect();
    write(&RecordParts { before: &before, ..RecordParts::default() }, room, |text| {
        (text.chars().count() as u64).div_ceil(4)
    })
}

#[test]
fn what_failed_or_was_only_planned_is_quoted_and_not_judged() {
    for (returned, is_error, told) in [
        ("Delivery failed: mailbox full", false, "→ Delivery failed: mailbox full"),
        (r#"{"status":"declined"}"#, false, "→ status declined"),
        ("Killed", false, "→ Killed"),
        ("Fehler: Guthaben reicht nicht aus", false, "→ Fehler: Guthaben reicht nicht aus"),
        (r#"{"success":"false"}"#, false, "→ failed: success false"),
        ("支付未成功。", false, "→ 支付未成功。"),
        ("anything", true, "→ failed: anything"),
    ] {
        let messages = [
            said(Role::User, "Send it."),
            call_with("c", "send", json!({"to": "mia@example.org"})),
            flagged("c", returned, is_error),
            said(Role::Assistant, "Заказ ещё не готово."),
        ];
        let text = written(&messages, 2_000);
        assert!(text.contains(told), "{text}");
        assert!(text.contains("Agent: Заказ ещё не готово."), "{text}");
        for judged in ["ok", "✓", "Done", "Goal", "Decision"] {
            assert!(!text.contains(judged), "{judged}: {text}");
        }
    }
}

#[test]
fn an_agent_that_works_alone_keeps_its_findings() {
    let mut messages = vec![said(Role::User, "Look through the modules and find what is wrong.")];
    for n in 0..24 {
        messages.push(said(Role::Assistant, &format!("Module m{n} leaks the handle h{n}00 in its drop path.")));
        messages.push(call(&format!("c{n}"), "read", &format!("src/m{n}.rs")));
        messages.push(result(&format!("c{n}"), &"let x = 1;\n".repeat(60)));
    }
    let text = written(&messages, 4_000);
    let found = (0..24).filter(|n| text.contains(&format!("leaks the handle h{n}00"))).count();
    assert_eq!(found, 24, "{text}");
}

#[test]
fn the_order_is_kept_and_the_room_is_met() {
    let mut messages = Vec::new();
    for n in 0..300 {
        messages.push(said(
            Role::User,
            &format!("Request {n}: change the port to {n}. {}", "And mind the rest of it. ".repeat(10)),
        ));
        messages.push(call(&format!("c{n}"), "bash", &format!("set-port {n}")));
        messages.push(result(&format!("c{n}"), &format!("port is {n}\n{}", "noise of the tool\n".repeat(30))));
        messages.push(said(Role::Assistant, &format!("The port is {n} now.")));
    }
    for room in [300, 1_000, 4_000, 20_000, 200_000] {
        let text = written(&messages, room);
        let tokens = (text.chars().count() as u64).div_ceil(4);
        assert!(tokens <= room, "{tokens} of {room}");
        let place = |n: usize| text.find(&format!("Request {n}:"));
        let told: Vec<usize> = (0..300).filter_map(place).collect();
        assert!(told.is_sorted() && !told.is_empty(), "{room}: {told:?}");
        assert!(place(299).is_some() || room < 1_000, "{room}: the newest is told");
        assert_eq!(text, written(&messages, room));
    }
}

/// The user's words are worth more than what was said of them.
#[test]
fn what_the_user_said_early_outlives_what_was_said_of_it() {
    let mut messages = Vec::new();
    for n in 0..25 {
        let fact = if n == 1 { " The release is called KESTREL-7." } else { "" };
        messages.push(said(Role::User, &format!("Question {n}: what does src/module{n}.ts export?{fact}")));
        messages.push(call(&format!("c{n}"), "read", &format!("src/module{n}.ts")));
        messages.push(result(&format!("c{n}"), &"export const answer = 1;\n".repeat(30)));
        let answer =
            format!("It exports the answer {n}, which the module before it imports, and the next one does not.");
        messages.push(said(Role::Assistant, &answer));
    }
    let text = written(&messages, 1_300);
    assert!((0..25).all(|n| text.contains(&format!("Question {n}:"))) && text.contains("KESTREL-7"), "{text}");
    assert!(text.contains("It exports the answer 24, which the module before it imports, and the next one does not."));
}

/// What comes again and again in the same words stands once, the newest; of what only begins alike the words that are its own
/// stand in any case.
#[test]
fn words_that_are_repeated_stand_once() {
    let steps: String = (1..9).map(|n| format!("{n}. Say what step {n} has brought, and what it has not. ")).collect();
    let prompt = format!("Reflect on your last action before you go on. {steps}");
    let mut messages = Vec::new();
    for n in 0..6 {
        let asked = if n == 4 { format!("{prompt}Then stop at port 8443.") } else { prompt.clone() };
        messages.push(said(Role::User, &asked));
        messages.push(said(
            Role::Assistant,
            &format!("Thought {n}: the page of part {n} is open, and its price is {n}00."),
        ));
    }
    let text = written(&messages, 1_300);
    assert_eq!(text.matches("Say what step 5 has brought").count(), 1, "{text}");
    assert_eq!(text.matches("(the same words as u6)").count(), 4, "{text}");
    assert!(text.contains("Then stop at port 8443."), "{text}");
}

/// What the user said once, in any language, outlives what is asked again and again in other numbers.
#[test]
fn what_no_other_request_says_outlives_requests_that_are_alike() {
    let rules = [
        (3, "From now on never push to main without my approval."),
        (6, "Antworte ab jetzt immer auf Deutsch und ohne Fachwörter."),
        (9, "从现在起不要修改公共接口。"),
        (11, "Nein, ich habe mich geirrt: Anschluss 8443, nicht 8080."),
    ];
    let mut messages = Vec::new();
    for n in 0..40 {
        let rule = rules.iter().find(|(at, _)| *at == n).map_or("", |(_, rule)| rule);
        let request = format!("Question {n}: what does src/module{n}.ts export? The ticket is PAY-{}. {rule}", 40 + n);
        messages.push(said(Role::User, &request));
        messages.push(said(Role::Assistant, &format!("It exports answer {n}.")));
    }
    let text = written(&messages, 700);
    for (_, rule) in rules {
        assert!(text.contains(rule), "{rule} in {text}");
    }
    assert!(text.contains("[… u") && text.contains("Question 39:"), "{text}");
}

/// However far the sizes that a record is told by are from the tokens that it is counted in.
#[test]
fn what_is_newest_stands_whole_in_any_room() {
    let mut messages = Vec::new();
    for n in 0..60 {
        messages.push(said(Role::User, &format!("Step {n}: mend `src/größe_{n}.rs`. 🦀 \"quoted\"\\")));
        messages.push(call(&format!("c{n}"), "write", &format!("src/größe_{n}.rs")));
        messages.push(result(&format!("c{n}"), &"// ja, 是\n".repeat(n % 40)));
        messages.push(said(Role::Assistant, &format!("Step {n} is done, ticket ABC-{n} can be closed.")));
    }
    let before: Vec<RecordItem<'_>> =
        messages.iter().map(|message| RecordItem::Message(message, RecordPlace::Told)).collect();
    let count = |text: &str| text.chars().map(|c| if c.is_ascii() { 1 } else { 9 }).sum::<u64>().div_ceil(2);
    for room in (600..9_000).step_by(97) {
        let text = write(&RecordParts { before: &before, ..RecordParts::default() }, room, count);
        assert!(count(&text) <= room, "{} of {room}", count(&text));
        assert!(text.contains("Step 59: mend `src/größe_59.rs`. 🦀 \"quoted\"\\"), "{room}: {text}");
        assert!(text.contains("Step 59 is done, ticket ABC-59 can be closed."), "{room}: {text}");
    }
}

#[test]
fn what_the_calls_prove_about_now_stands_behind() {
    let messages = [
        said(Role::User, "Make the tests pass."),
        call("a", "bash", "cargo test"),
        flagged("a", "error: 3 failed", true),
        call("b", "edit_file", "src/a.rs"),
        result("b", "done"),
        call("c", "bash", "cargo test"),
        result("c", "all 12 passed"),
        call("d", "bash", "git push"),
        flagged("d", "no upstream", true),
        call("e", "edit_file", "src/b.rs"),
        result("e", "done"),
    ];
    let text = written(&messages, 3_000);
    assert!(text.contains("may have changed the outcome:\n- #3 bash(cargo test) → all 12 passed"), "{text}");
    assert!(text.contains("nothing like it was run since:\n- #4 bash(git push) → failed: no upstream"), "{text}");
    assert!(text.contains("Files changed since the newest of those runs:\n- src/b.rs (#5)"), "{text}");
}

#[test]
fn the_running_request_is_named_in_its_place() {
    let (request, answer) = (said(Role::User, "Please fix src/net.rs."), said(Role::Assistant, "I look at it."));
    let before = [RecordItem::Message(&request, RecordPlace::Running), RecordItem::Message(&answer, RecordPlace::Told)];
    let text = write(&RecordParts { before: &before, ..RecordParts::default() }, 500, |text| text.len() as u64 / 4);
    assert!(text.contains("u1 User: [the request that stands below this record]\nAgent: I look at it."), "{text}");
}

#[test]
fn nothing_to_tell_is_nothing() {
    assert_eq!(written(&[], 500), "");
}

/// Over all recorded sessions, cut at half: a record of any room meets it and is the same again; no panic. Written down for a
/// reader where `CONTEXTD_RECORDS` names a folder.
#[test]
#[cfg_attr(not(shared), ignore = "needs ../shared")]
fn records_of_recorded_sessions_meet_their_room() {
    let folder = std::env::var_os("CONTEXTD_RECORDS").map(std::path::PathBuf::from);
    let count = |text: &str| (quote::size(text) as u64).div_ceil(4);
    for source in
        ["entireio-cli", "pi-mono", "tau-bench", "swe-agent", "openhands-sdk", "aider-history", "glaive-toolcall-zh"]
    {
        for (number, messages) in crate::summary::testing::transcripts(source).iter().enumerate() {
            let cut = messages.len() * 3 / 4;
            let before: Vec<RecordItem<'_>> =
                messages[..cut].iter().map(|message| RecordItem::Message(message, RecordPlace::Told)).collect();
            let parts = RecordParts { before: &before, kept: &messages[cut..], ..RecordParts::default() };
            for room in [500, 4_000] {
                let text = write(&parts, room, count);
                assert!(count(&text) <= room, "{source} {number}: {} of {room}", count(&text));
                assert_eq!(text, write(&parts, room, count), "{source} {number}");
                if let Some(folder) = folder.as_ref().filter(|_| room == 4_000) {
                    std::fs::write(folder.join(format!("{source}-{number}.txt")), text).unwrap();
                }
            }
        }
    }
}

#[test]
fn given_notes_are_quoted_before_the_conversation_in_their_share() {
    let messages = [said(Role::User, "Go on."), said(Role::Assistant, "I went on.")];
    let before: Vec<RecordItem<'_>> =
        messages.iter().map(|message| RecordItem::Message(message, RecordPlace::Told)).collect();
    let told = |notes: &str, room: u64| {
        let parts = RecordParts { before: &before, given: Some(notes), ..RecordParts::default() };
        write(&parts, room, |text| (text.chars().count() as u64).div_ceil(4))
    };
    let text = told("Port 8080 was agreed on.", 2_000);
    let notes = text.find("Notes that were given with an earlier compaction:\nPort 8080 was agreed on.");
    assert!(notes < text.find("u1 User: Go on.") && notes.is_some(), "{text}");
    let long = format!("It begins. {}It ends.", "And so it goes. ".repeat(2_000));
    let text = told(&long, 600);
    assert!(text.contains("It begins.") && text.contains("It ends.") && text.contains(quote::GAP), "{text}");
    assert!(text.matches("And so it goes.").count() < 600 * 4 / 6 / 16 + 2, "{text}");
    assert!(text.contains("Agent: I went on."), "{text}");
}

#[test]
fn what_was_asked_for_again_stands_whole_in_its_share() {
    let listing = |n: usize| (0..80).map(|at| format!("pier {n}, bolt {at} of it\n")).collect::<String>();
    let mut messages = vec![said(Role::User, "Look at the piers.")];
    for n in 0..12 {
        messages
            .extend([call(&format!("c{n}"), "read", &format!("pier{n}.txt")), result(&format!("c{n}"), &listing(n))]);
    }
    let before: Vec<RecordItem<'_>> =
        messages.iter().map(|message| RecordItem::Message(message, RecordPlace::Told)).collect();
    let told = |recalled: &[String], room: u64| {
        let parts = RecordParts { before: &before, recalled, ..RecordParts::default() };
        write(&parts, room, |text| (text.chars().count() as u64).div_ceil(4))
    };
    assert!(!told(&[], 4_000).contains(listing(3).trim()));
    let ids = ["c3".to_owned(), "c5".to_owned()];
    let text = told(&ids, 4_000);
    let heading = text.find("Results that were asked for again:").expect("a heading");
    assert!(text[heading..].contains(&format!("- #4 read(pier3.txt) → {}", listing(3).trim())), "{text}");
    assert_eq!(text.matches("pier3.txt").count(), 2, "where it was called it is only named: {text}");
    // In a small room the one that was asked for last comes first.
    let text = told(&ids, 1_200);
    assert!(text.contains("pier 3, bolt 0 of it") && !text.contains("pier 5, bolt 0 of it"), "{text}");
    assert!(!told(&ids, 150).contains("asked for again"));
}

/// What the user says to a call that waits for approval is the user's, whether the call was let run or not.
#[test]
fn an_approval_is_the_users_word_on_the_call() {
    let read = |item: serde_json::Value| {
        let mut message = crate::format::message_of(Format::OpenaiResponses, &item).unwrap().unwrap();
        lighten::strip(&mut message);
        message
    };
    let asked = |id: &str| {
        let arguments = r#"{"path":"/srv/old"}"#;
        read(
            json!({"type": "mcp_approval_request", "id": id, "name": "drop", "arguments": arguments, "server_label": "s"}),
        )
    };
    let answered = |id: &str, approve: bool, reason: &str| {
        let mut item = json!({"type": "mcp_approval_response", "approval_request_id": id, "approve": approve});
        if !reason.is_empty() {
            item["reason"] = reason.into();
        }
        read(item)
    };
    let ran = |id: &str| {
        let (call, arguments) = (format!("mcp_{id}"), r#"{"path":"/srv/old"}"#);
        read(json!({"type": "mcp_call", "id": call, "approval_request_id": id, "name": "drop", "arguments": arguments,
            "server_label": "s", "output": "dropped 3"}))
    };
    let messages = [
        said(Role::User, "Tidy up the server."),
        asked("m1"),
        answered("m1", false, "Not before the backup."),
        asked("m2"),
        answered("m2", false, ""),
        said(Role::Assistant, "Then I wait."),
        asked("m3"),
        answered("m3", true, "Now you may, the old one only."),
        ran("m3"),
        said(Role::Assistant, "Gone."),
        asked("m4"),
        answered("m4", true, ""),
        ran("m4"),
        said(Role::Assistant, "The other is gone too."),
        asked("m5"),
    ];
    let text = written(&messages, 4_000);
    for told in [
        "#1 drop(/srv/old) → refused, the user: Not before the backup.",
        "#2 drop(/srv/old) → refused\n",
        "#3 drop(/srv/old) → the user: Now you may, the old one only. → dropped 3",
        "#4 drop(/srv/old) → dropped 3",
        "#5 drop(/srv/old) → no result",
    ] {
        assert!(text.contains(told), "{told}: {text}");
    }
    let brief = written(&messages, 150);
    assert!(brief.contains("Not before the backup."), "{brief}");
}

/// An agent without tools writes its commands as blocks: what changed something is told however little room there is.
#[test]
fn what_a_command_in_the_agents_words_changed_is_told_at_every_level() {
    let mut messages = vec![said(Role::User, "Fix the off-by-one in the ranges.")];
    for n in 0..80 {
        let command = match n {
            7 => "cat > src/ranges_fix.py <<'EOF'\nFIRST = 1\nEOF".to_owned(),
            31 => "git commit -am 'ranges begin at one'".to_owned(),
            n => format!("grep -n range{n} src/part{n}.py"),
        };
        messages.push(said(Role::Assistant, &format!("Step {n} is next.\n\n```bash\n{command}\n```")));
        messages.push(said(Role::User, &format!("OBSERVATION:\n{}", format!("{n}: a line of the part\n").repeat(8))));
    }
    let text = written(&messages, 900);
    for told in ["- `cat > src/ranges_fix.py", "- `git commit -am 'ranges begin at one'`"] {
        assert!(text.contains(told), "{told}: {text}");
    }
    let (counted, changed) = (text.find(" in the agent's messages)"), text.find("- `cat >"));
    assert!(counted.is_some() && counted < changed, "what ran before is counted before it: {text}");
}

/// A count of calls stands where they were made: what the agent announced before some of them is told before those.
#[test]
fn calls_are_counted_between_the_words_that_they_stand_between() {
    let mut messages = vec![said(Role::User, "Find out why the build of the site fails and mend it.")];
    for n in 0..40 {
        if n % 10 == 5 {
            let finding = format!("The stage {n} needs lib{n}.so in /opt/stage{n}, which is missing there.");
            messages.push(said(Role::Assistant, &finding));
        }
        messages.push(call(&format!("c{n}"), "read", &format!("src/m{n}.rs")));
        messages.push(result(&format!("c{n}"), &"let x = 1;\n".repeat(60)));
    }
    messages.push(said(Role::Assistant, "All stages have their libraries now, and build.log ends with 0."));
    let text = written(&messages, 330);
    let places: Vec<Option<usize>> =
        ["calls: #1", "lib5.so", "lib15.so", "build.log"].iter().map(|part| text.find(part)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}: {text}");
}

/// What a shell prints and what a harness says to the form of an answer are nobody's words, in whatever form they come.
#[test]
fn replies_of_programs_are_not_told_as_the_users() {
    let mut messages = vec![said(Role::User, "Mend the parser."), said(Role::Assistant, "I look.\n```\nls\n```")];
    for n in 0..6 {
        messages.push(said(Role::User, &format!("part{n}.py\n(cwd: /src)\nroot@box:/src#")));
        let command = format!("Part {n} is next.\n```\nsed -i s/a/b/ part{n}.py\n```");
        messages.push(said(Role::Assistant, if n == 3 { "Part 3 is next." } else { &command }));
        if n == 3 {
            messages.push(said(Role::User, "Tu respuesta no tiene orden. Escribe:\n```\norden\n```"));
            messages.push(said(Role::Assistant, &command));
        }
    }
    messages.push(said(Role::User, "All done?\nroot@box:/src#"));
    messages.push(said(Role::Assistant, "All is mended."));
    messages.push(said(Role::User, "Now the tests, please."));
    let text = written(&messages, 2_000);
    let users: Vec<&str> = text.lines().filter(|line| line.contains(" User: ")).collect();
    assert_eq!(users, ["u1 User: Mend the parser.", "u10 User: Now the tests, please."], "{text}");
    assert!(text.contains("- `sed -i s/a/b/ part0.py` → ") && text.contains("Harness: Tu respuesta"), "{text}");
}

/// Some agents keep their list of tasks beside what each call does: the call is told by what it does.
#[test]
fn a_list_of_tasks_beside_the_arguments_hides_nothing() {
    let list = "- [x] Look at the sources\n- [ ] Write the module";
    let messages = [
        said(Role::User, "Write the module."),
        call_with(
            "c1",
            "write_to_file",
            json!({"path": "src/module.ts", "content": "export {}", "task_progress": list}),
        ),
        result("c1", "saved"),
        call_with("c2", "run", json!({"command": "npm run deploy", "Fortschritt_progress": list})),
        result("c2", "deployed"),
        call_with(
            "c3",
            "update_plan",
            json!({"explanation": "done", "plan": [{"step": "Look", "status": "completed"}]}),
        ),
        result("c3", "ok"),
    ];
    let text = written(&messages, 2_000);
    assert!(text.contains("write_to_file(src/module.ts") && text.contains("run(npm run deploy) → deployed"), "{text}");
    assert!(text.contains("update_plan(1 task)") && !text.contains("write_to_file(2 tasks)"), "{text}");
}

/// A consent holds on the condition with which its sentence ends.
#[test]
fn a_sentence_that_is_cut_keeps_its_end() {
    let consent = "Ja, bitte nehmen Sie das Regal mit der Nummer 4894369688 aus der Bestellung W5362037 zurück, erstatten Sie den \
                   vollen Betrag von 537,01 Euro auf den Gutschein, mit dem ich es damals bezahlt habe, und geben Sie mir eine \
                   kurze Nachricht, sobald die Bestellung als geliefert gilt.";
    let mut messages = Vec::new();
    for n in 0..40 {
        let text = if n == 20 {
            consent.to_owned()
        } else {
            format!(
                "Frage {n}: was kostet Lampe {n}, und gibt es sie in Blau? {}",
                "Mir ist das wichtig. ".repeat(n % 5)
            )
        };
        messages.push(said(Role::User, &text));
        messages.push(said(Role::Assistant, &format!("Lampe {n} kostet {n} Euro.")));
    }
    for room in [500, 700, 1_000, 1_500, 2_500] {
        let text = written(&messages, room);
        let told = text.lines().find(|line| line.contains("das Regal mit der Nummer"));
        assert!(told.is_none_or(|told| told.contains("als geliefert gilt")), "{room}: {told:?}");
    }
    assert!(written(&messages, 2_500).contains("das Regal mit der Nummer"));
}

/// In next to no room head and tail of a record stand, and nobody's words under another name.
#[test]
fn no_cut_gives_words_to_somebody_else() {
    let mut messages = Vec::new();
    for n in 0..12 {
        messages
            .push(said(Role::User, &format!("Please fix issue {n}: {}", "the address is read wrongly. ".repeat(20))));
        messages.push(said(
            Role::Assistant,
            &format!("We will open file {n}. {}", "I look at the lines of it now. ".repeat(20)),
        ));
    }
    for room in [64, 80, 100, 140] {
        let text = written(&messages, room);
        let mut of_user = false;
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            match line {
                _ if line.starts_with('u') => of_user = true,
                _ if line.starts_with("Agent:") => of_user = false,
                _ => {}
            }
            assert!(!of_user || !line.contains("We will open"), "{room}: {text}");
        }
    }
}

/// A harness hands a skill over again: what is kept word for word needs no second copy.
#[test]
fn instructions_that_are_kept_stand_once() {
    let skill = format!("Use the library.\n\n## Rules\n{}", "- Ask before you deploy anything.\n".repeat(10));
    let before = [said(Role::System, &skill), said(Role::User, "Build it."), said(Role::Assistant, "Built.")];
    let items: Vec<RecordItem<'_>> =
        before.iter().map(|message| RecordItem::Message(message, RecordPlace::Told)).collect();
    let kept = [said(Role::User, &format!("{}\n\nARGUMENTS: now", skill.replace("\n\n", "\n")))];
    for (kept, stands) in [(&kept[..], false), (&[], true)] {
        let parts = RecordParts { before: &items, kept, ..RecordParts::default() };
        let text = write(&parts, 2_000, |text| (text.chars().count() as u64).div_ceil(4));
        assert_eq!(text.contains("Ask before you deploy"), stands, "{text}");
    }
}

#[test]
fn a_record_that_nobody_waits_for_is_not_written() {
    let messages: Vec<Message> = (0..400).map(|n| said(Role::User, &format!("Wish {n}"))).collect();
    let waiter = crate::model::abandoned::JobWaiter::default();
    let (flag, mut waiter) = (waiter.waiting(), Some(waiter));
    let text = flag.during(|| {
        drop(waiter.take());
        written(&messages, 4_000)
    });
    assert!(text.is_some_and(|text| !text.contains("Wish")));
}

/// What the agent did is never forgotten: of calls that are only counted, the files that they changed are named.
#[test]
fn files_of_counted_calls_are_named() {
    let mut messages = vec![said(Role::User, "Build the depot.")];
    let body = |n: usize| format!("first line {n}\n{}", format!("more of {n} in a long row of words\n").repeat(30));
    for n in 0..60 {
        let (id, path) = (format!("w{n}"), format!("/srv/depot/src/main/part/Teil{n}.java"));
        messages.push(call_with(&id, "kirjoita", json!({"path": path, "content": body(n)})));
        messages.push(result(&id, &format!("Valmis: {path}")));
    }
    messages.extend([call("r", "read", "/srv/depot/NurGelesen.md"), result("r", "nothing")]);
    messages.push(said(Role::Assistant, "All parts of the depot are there."));
    let text = written(&messages, 900);
    assert!((0..12).all(|n| text.contains(&format!("Teil{n}.java"))), "{text}");
    let counted: Vec<&str> = text.lines().filter(|line| line.starts_with("  (")).collect();
    assert!(counted.iter().any(|line| line.contains(", with kirjoita Teil")), "{text}");
    assert!(counted.iter().all(|line| !line.contains("NurGelesen")), "{text}");
}

/// What a harness or somebody else noted on the time before is all that is left of it.
#[test]
fn notes_of_an_earlier_part_are_told_whatever_the_room() {
    let rule = "The project must run by docker compose up alone, with run_tests.sh and at least 90% coverage.";
    let filler =
        |n: usize| (0..30).map(|at| format!("In part {n} the file f{n}_{at}.rs was looked at. ")).collect::<String>();
    let notes = format!("Summary:\n1. Request: build the depot of the buses.\n{}\n{rule}\n{}", filler(1), filler(2));
    let mut messages = vec![said(Role::CompactionSummary, &notes)];
    for n in 0..30 {
        messages.push(said(Role::User, &format!("Do step {n} of the plan.")));
        messages.push(said(Role::Assistant, &filler(n + 3)));
    }
    let text = written(&messages, 1_600);
    assert!(text.contains("Notes of an earlier part: Summary:") && text.contains(rule), "{text}");
}
