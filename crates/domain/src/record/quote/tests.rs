use super::*;

fn room(all: usize) -> PassageRoom {
    PassageRoom::of(all, 400)
}

fn in_room(text: &str, room: PassageRoom) -> String {
    passage(text, room, |_| false)
}

#[test]
fn sentences_end_where_they_end() {
    assert_eq!(sentences("1. Use tabs. 2. Keep e.g. names. Done!"), ["1. Use tabs.", "2. Keep e.g. names.", "Done!"]);
    assert_eq!(sentences("支付未成功。请重试！"), ["支付未成功。", "请重试！"]);
    assert_eq!(sentences("a.rs is 1.5 kB\nnext"), ["a.rs is 1.5 kB", "next"]);
    assert_eq!(sentences("他说：“天冷。”我走了。"), ["他说：“天冷。”", "我走了。"]);
    assert_eq!(
        sentences("He said \"no.\" I left (late.) \"So\" it ends."),
        ["He said \"no.\"", "I left (late.)", "\"So\" it ends."]
    );
}

#[test]
fn a_cut_is_marked() {
    assert_eq!(shortened("one two", 100, 0), "one two");
    let long = format!("begin {} end", "word ".repeat(100));
    let told = shortened(&long, 40, 20);
    assert!(told.starts_with("begin word") && told.ends_with("end") && told.matches(GAP).count() == 1, "{told}");
    let wide = shortened(&"支付".repeat(100), 40, 8);
    assert_eq!(wide, format!("{} {GAP} {}", "支付".repeat(5), "支付"));
}

#[test]
fn a_passage_keeps_what_names_and_marks_what_it_leaves_out() {
    let filler = "This went on for a while and nothing much came of it all. ".repeat(6);
    let text = format!("I looked at the parser. {filler}The port is 5177 in src/net.rs. {filler}It works now.");
    let told = in_room(&text, room(110));
    assert!(told.starts_with("I looked at the parser. […] "), "{told}");
    assert!(told.contains("The port is 5177 in src/net.rs.") && told.ends_with("It works now."), "{told}");
    assert_eq!(in_room("Short. Whole.", room(100)), "Short. Whole.");
    assert_eq!(in_room(&format!("{} End.", "long words ".repeat(9)), room(60)).matches(GAP).count(), 1);
    let announced = PassageRoom { announces: true, ..room(100) };
    assert_eq!(in_room("The test fails. Let me look:", announced), "The test fails. […]");
}

#[test]
fn an_address_leads_where_nothing_else_does() {
    let text = "The listing is open at https://example.org/grants/audit: 1k-10k, global, one week. The article says Round 1 closes \
                on May 25, 2026 at 11:59 pm and prefers Solana, payments, commerce and integrations of QX-7 and KL-9.";
    let room = PassageRoom { announces: true, ..PassageRoom::of(130, 130) };
    let told = in_room(text, room);
    assert!(told.contains("https://example.org/grants/audit"), "{told}");
}

#[test]
fn no_sentence_is_told_twice() {
    let said = "It exports one answer, after 6 parts. ";
    assert_eq!(in_room(&said.repeat(4), room(900)), format!("{}{GAP}", said));
    let text = format!("{said}The port is 5177. {said}It works now.");
    assert_eq!(in_room(&text, room(900)), format!("{said}The port is 5177. {GAP} It works now."));
}

#[test]
fn of_what_was_pasted_no_sentence_is_told_twice() {
    let pasted = format!("Look at this. {}What is it?", "The line is down. ".repeat(40));
    assert_eq!(shortened_once(&pasted, 140, 60), "Look at this. The line is down. […] What is it?");
    assert_eq!(shortened_once("Go on. Go on. Go on.", 140, 60), "Go on. Go on. Go on.");
}

#[test]
fn a_question_is_no_outcome_and_code_is_told_whole_or_not() {
    let room = PassageRoom { is_outcome: true, ..room(60) };
    let said = "Let me see. The flight HAT271 costs 105 dollars. Would you like to book one of these options now?";
    assert_eq!(in_room(said, room), "Let me see. The flight HAT271 costs 105 dollars. […]");
    let said =
        "I add a loop.\n```python\nfor item in all_items_of(a, b, c):\n    table.push([item.name])\n```\nThat is all.";
    assert_eq!(in_room(said, room), "I add a loop. […] That is all.");
    let usual = |part: &str| part == "Have a nice day!";
    assert_eq!(
        passage("It is sold out, all of it, since the morning of that day. Have a nice day!", room, usual),
        "It is sold out, all of it, since the morning of that day. […]"
    );
}

#[test]
fn no_heading_stands_alone() {
    let filler = "some words that say little and go on and on ".repeat(20);
    let told = in_room(&format!("Start.\n## Results_2026 of v1\n{filler}\nEnd."), room(60));
    assert!(!told.contains("Results_2026"), "{told}");
}

#[test]
fn a_rule_between_parts_is_not_told() {
    let filler = "some words that say little and go on and on ".repeat(12);
    let told = in_room(&format!("Plan_1 first.\n---\n{filler}\n***\n{filler}x\n---\nEnd_2."), room(60));
    assert_eq!(told, "Plan_1 first. […] End_2.");
}

#[test]
fn of_a_table_the_rows_that_its_writer_marks_are_told_with_the_names_of_the_columns() {
    let rows: String = (0..12)
        .map(|n| {
            if n == 7 {
                "| **V7 Guided-NLM** | 13.189 | **0.4994** |\n".to_owned()
            } else {
                format!("| V{n} Bil-EPF | 12.{n}41 | 0.2{n}14 |\n")
            }
        })
        .collect();
    let text = format!("The results are in.\n\n| Variant | Avg PSNR | Avg SSIM |\n|---|---|---|\n{rows}");
    let told = passage(&text, PassageRoom::of(160, 400), |_| false);
    assert!(told.contains("V7 Guided-NLM") && told.contains("| Variant | Avg PSNR | Avg SSIM |"), "{told}");
}

#[test]
fn an_entry_of_a_list_stands_under_what_heads_it() {
    let reviewed = "Almost. If you decided that it is **level 1**, then:\n\n- **Remove** the reference `Anthropic 2026` at the end.\n\
                    - Add a note.\n\nIf you leave it as **level 2**, then:\n\n- The reference at the end is right.\n\
                    - **Add** the quotation `(Anthropic, 2026)` in the text of section 4.";
    let text =
        format!("{reviewed}\n\n{}", "So much for that, and we go on with the rest of it as we said. ".repeat(12));
    let told = passage(&text, PassageRoom::of(260, 120), |_| false);
    for (entry, head) in [("**Remove**", "**level 1**, then:"), ("**Add**", "**level 2**, then:")] {
        let at = |part: &str| told.find(part);
        assert!(at(entry).is_none() || at(head).is_some_and(|head| Some(head) < at(entry)), "{told}");
    }
    assert!(told.contains("**Remove**") || told.contains("**Add**"), "{told}");
}

#[test]
fn a_dot_in_code_ends_no_sentence() {
    assert_eq!(sentences("Copy with `COPY . .` first. Then build."), ["Copy with `COPY . .` first.", "Then build."]);
    assert_eq!(sentences("One ` alone. Then more."), ["One ` alone.", "Then more."]);
}

/// Of several passages each says itself where it is cut.
#[test]
fn the_end_of_a_passage_is_marked_at_it() {
    let first = "The port is 5177 in src/net.rs. Nothing else came of it and it went on for a while, as it does.";
    let told = passages(&[first, "src/web.rs is done."], room(60), |_| false);
    assert_eq!(told, ["The port is 5177 in src/net.rs. […]", "src/web.rs is done."]);
}

/// One row of three reads as if there were no other.
#[test]
fn rows_and_entries_stand_together_where_they_fit() {
    let filler = "It went on like this for a good while and nothing came of it at all. ".repeat(8);
    let table = "| pair | state |\n|---|---|\n| SOL | open at 79 |\n| XRP | open at 1.38 |\n| AVAX | closed |";
    let told = in_room(&format!("{filler}\n{table}\n{filler}"), room(150));
    assert!(["SOL", "XRP", "AVAX"].iter().all(|name| told.contains(name)), "{told}");
    let list = "It runs only on:\n- a push to `main`\n- a click in the pages of the project";
    let told = in_room(&format!("{filler}\n{list}\n{filler}"), room(150));
    assert!(told.contains("a push to `main` - a click"), "{told}");
}

/// What somebody who asks writes in capitals stays, in any script that has them.
#[test]
fn what_is_written_in_capitals_stays() {
    for (first, loud, last) in [
        (
            "Agis en tant qu'expert du texte de vente.",
            "NE TOUCHE PAS au CSS.",
            "Fais-moi une proposition pour le Header.",
        ),
        ("Перепиши тексты главной страницы.", "НЕ МЕНЯЙ стили.", "Покажи мне предложение для шапки."),
    ] {
        let filler =
            "The words of the middle, of which there are many, say what the page has in src/pages/index.astro today. ";
        let text = format!("{first} {}{loud} {}{last}", filler, filler.replace("middle", "second part"));
        let told = in_room(&text, PassageRoom { begins: true, ..room(size(first) + size(loud) + size(last) + 8) });
        assert!(told.contains(loud) && told.contains(first), "{told}");
    }
}

/// The number of an entry stands with it, be it between quotation marks.
#[test]
fn a_number_in_quotation_marks_ends_no_sentence() {
    let text = "['1. The order was found, so that is done.', '2. The card was not charged. Hence, not yet solved.']";
    assert!(!sentences(text).iter().any(|sentence| !sentence.contains(' ')), "{:?}", sentences(text));
}

/// Of sentences that differ in names alone a few are told, and then what is said once.
#[test]
fn what_is_said_once_stands_beside_what_is_said_of_many() {
    let files: String = (0..40).map(|n| format!("In part {n} the file f{n}_0.rs was looked at. ")).collect();
    for once in ["It has to start by docker compose up alone.", "Die Preise bleiben in jedem Fall ohne Steuer stehen."]
    {
        let told = passage(&format!("{files}{once} {files}The end is near."), PassageRoom::of(400, 200), |_| false);
        assert!(told.contains(once), "{told}");
    }
}
