//! Conversations that nothing names and that say the same: what proves one to be more of another, and what does not.

use serde_json::{Value, json};

use super::who::{PATHS, chat, post, said, sessions, under, with_tools};
use super::{CHAT, MESSAGES, RESPONSES, Stage, body};

fn posted(path: &str, items: &[Value], tools: bool) -> Value {
    if tools { with_tools(path, items) } else { body(path, items) }
}

/// Where each of these requests is kept, one after the other.
async fn kept(stage: &Stage, path: &str, system: &str, tools: bool, requests: &[Vec<Value>]) -> Vec<String> {
    let mut names = Vec::new();
    for items in requests {
        names.push(post(stage, path, &[], &under(path, posted(path, items, tools), system)).await.session());
    }
    names
}

fn different(mut names: Vec<String>) -> usize {
    names.sort();
    names.dedup();
    names.len()
}

/// The same questions about each document.
fn batch(documents: &[&str], first: &str, asked: &[&[&str]]) -> Vec<Vec<Value>> {
    let about = |(document, asked): (&&str, &&[&str])| {
        chat(&[&[*document, &first.replace('*', document)[..]], *asked].concat())
    };
    documents.iter().zip(asked.iter().cycle()).map(about).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_questions_about_other_documents_are_other_conversations() {
    let asked: [&[&str]; 9] = [
        &["Which tests cover it?", "tests/a.rs", "Summarise it."],
        &["Summarise it."],
        &["q", "a", "r", "b", "s", "c", "t", "d", "u"],
        &["go on", "Done.", "go on", "Done.", "go on", "Done.", "go on"],
        &["誰が署名しましたか?", "不明です。", "要約してください。"],
        &["Welche Frist gilt?", "Bis Freitag.", "Fasse es zusammen.", "Kurz.", "Danke."],
        &["Ответь кратко: что это?", "Документ.", "Кто автор?"],
        &["Which tests cover it, and which of them fail?\n\nQuote them, with their lines.", "Yes.", "No?"],
        &["ما هذا؟", "نعم.", "لخصه."],
    ];
    let documents = ["Invoice of ACME: 10 EUR", "Contract with Globex", "Payroll of Initech"];
    for path in PATHS {
        for tools in [false, true] {
            let stage = Stage::plain().await;
            for (at, asked) in asked.iter().enumerate() {
                for first in ["I have read it.", "I have read *."] {
                    let requests = batch(&documents, first, &[asked]);
                    let system = format!("You answer {} {}.", ["a", "b", "c", "d", "e", "f", "g", "h", "i"][at], first);
                    let names = kept(&stage, path, &system, tools, &requests).await;
                    assert_eq!(different(names), 3, "{path} {tools} {asked:?} {first}");
                }
            }
            assert_eq!(sessions(&stage).await, 3 * 2 * asked.len(), "{path} {tools}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_in_another_order_or_number_prove_nothing() {
    const QUESTIONS: [(&str, &str); 5] =
        [("Who?", "Ana."), ("When?", "Today."), ("Where?", "Here."), ("Why?", "So."), ("How?", "Well.")];
    let asked = |order: &[usize], last: &'static str| {
        let pairs = order.iter().map(|at| QUESTIONS[*at]).flat_map(|(asked, told)| [asked, told]);
        pairs.chain([last]).collect::<Vec<_>>()
    };
    for path in PATHS {
        for tools in [false, true] {
            let stage = Stage::plain().await;
            for (at, orders) in [
                [&[0, 1][..], &[0, 1, 2], &[0, 1, 2, 3]],
                [&[0, 1, 2], &[1, 2, 0], &[2, 0, 1]],
                [&[0, 1, 2, 3], &[2, 3], &[3]],
                [&[3], &[2, 3], &[1, 2, 3]],
            ]
            .iter()
            .enumerate()
            {
                for first in ["Read.", "* is read."] {
                    for last in ["Sum up.", "How?"] {
                        let asked: Vec<Vec<&str>> = orders.iter().map(|order| asked(order, last)).collect();
                        let asked: Vec<&[&str]> = asked.iter().map(Vec::as_slice).collect();
                        let requests = batch(&["one", "two", "three"], first, &asked);
                        let system = format!("{} {first} {last}", ["a", "b", "c", "d"][at]);
                        let names = kept(&stage, path, &system, tools, &requests).await;
                        assert_eq!(different(names), 3, "{path} {tools} {orders:?} {first} {last}");
                    }
                }
            }
        }
    }
}

/// What is shown is said too: the words beside it may be the same.
#[tokio::test(flavor = "multi_thread")]
async fn other_pictures_and_papers_are_other_conversations() {
    let shown = |path: &str, at: usize| {
        let data = ["AAAA", "BBBB", "CCCC"][at];
        let words = |kind: &str| json!({"type": kind, "text": "Read it."});
        let blocks = match path {
            CHAT => {
                json!([{"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{data}")}}, words("text")])
            }
            RESPONSES => {
                json!([{"type": "input_file", "filename": "a.pdf", "file_data": format!("data:application/pdf;base64,{data}")}, words("input_text")])
            }
            _ => {
                json!([{"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": data}}, words("text")])
            }
        };
        json!({"role": "user", "content": blocks})
    };
    for path in PATHS {
        let stage = Stage::plain().await;
        let mut names = Vec::new();
        for at in 0..3 {
            let mut items = vec![shown(path, at)];
            items.push(said("assistant", "I have read it."));
            for turn in 0..3 {
                items.push(said("user", &format!("question {turn}")));
                names.push(post(&stage, path, &[], &body(path, &items)).await.session());
                items.push(said("assistant", "Yes."));
            }
        }
        assert!(names.chunks(3).all(|one| one[0] == one[1] && one[1] == one[2]), "{path}: {names:?}");
        assert_eq!((different(names), sessions(&stage).await), (3, 3), "{path}");
    }
}

/// No id, and a preamble that is another one with every request.
#[tokio::test(flavor = "multi_thread")]
async fn a_preamble_that_is_written_anew_is_the_same_conversation() {
    let blocks = |path: &str, texts: [String; 2]| {
        let kind = if path == RESPONSES { "input_text" } else { "text" };
        json!({"role": "user", "content": texts.map(|text| json!({"type": kind, "text": text}))})
    };
    let days = ["2026-11-26", "day B", "morgen", "明日", "Sunday"];
    for path in PATHS {
        let stage = Stage::plain().await;
        for form in 0..8 {
            let mut names = Vec::new();
            for (turn, day) in days.iter().enumerate() {
                let work = format!("Work, {form}.");
                let mut items = match form {
                    0 => vec![
                        said("user", &format!("<environment_context><date>{day}</date></environment_context>")),
                        said("user", &work),
                    ],
                    1 => vec![
                        said(
                            "user",
                            &format!("# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\n{day}\n</INSTRUCTIONS>"),
                        ),
                        said("user", &work),
                    ],
                    2 => vec![blocks(path, [format!("<system-reminder>\n{day}\n</system-reminder>"), work])],
                    3 => vec![said("user", &format!("{work}\n<environment_details>{day}</environment_details>"))],
                    4 => vec![said("user", &format!("<env>{day}</env> {work}"))],
                    // A preamble that the client has answered itself.
                    5 => vec![
                        said("user", &format!("This is the Qwen Code. Today's date is {day}.")),
                        said("assistant", "Got it."),
                        said("user", &work),
                    ],
                    6 => vec![
                        said("user", &format!("<environment_context>{day}</environment_context>")),
                        said("assistant", "Understood."),
                        said("user", &work),
                    ],
                    _ => vec![
                        said("user", &format!("<user_instructions>{day}</user_instructions>")),
                        said("user", &format!("<environment_context>{day}</environment_context>")),
                        said("user", &work),
                    ],
                };
                for step in 0..=turn {
                    items.push(said("assistant", &format!("step {step}")));
                    items.push(said("user", "go on"));
                }
                names.push(post(&stage, path, &[], &with_tools(path, &items)).await.session());
            }
            assert_eq!(different(names), 1, "{path}, form {form}");
        }
        assert_eq!(sessions(&stage).await, 8, "{path}");
    }
}

/// Two projects at once, each with its own surroundings, that are told and answered the same.
#[tokio::test(flavor = "multi_thread")]
async fn two_projects_with_the_same_words_are_two_conversations() {
    for path in PATHS {
        let stage = Stage::plain().await;
        let request = |project: &str, turns: usize| {
            let mut items = vec![said("user", &format!("<environment_context>/w/{project}</environment_context>"))];
            items.push(said("user", "Fix the lint."));
            (0..turns).for_each(|_| items.extend([said("assistant", "Done."), said("user", "continue")]));
            with_tools(path, &items)
        };
        let mut names = [Vec::new(), Vec::new(), Vec::new()];
        for turns in 0..5 {
            for (project, names) in ["a", "b", "c"].iter().zip(&mut names) {
                let got = post(&stage, path, &[], &request(project, turns)).await;
                names.extend((turns > 0).then(|| got.session()));
            }
        }
        assert!(names.iter().all(|names| different(names.clone()) == 1), "{path}: {names:?}");
        assert_eq!(sessions(&stage).await, 3, "{path}");
    }
}

/// A client that sums up in its own words, and others whose tails are of a common kind.
#[tokio::test(flavor = "multi_thread")]
async fn a_summary_in_any_words_goes_on_and_common_words_do_not() {
    for path in PATHS {
        let stage = Stage::plain().await;
        let begun = ["fix it", "Done.", "look at a", "Done.", "look at b", "Done.", "look at c"];
        let summed = ["So far: all was fixed", "Ok.", "look at b", "Done.", "look at c", "Done.", "and d"];
        let requests = [chat(&begun), chat(&summed)];
        assert_eq!(different(kept(&stage, path, "S", true, &requests).await), 1, "{path}");
        let mut names = Vec::new();
        for (document, turns) in [("one", 6), ("two", 3), ("three", 4), ("four", 5)] {
            let mut texts = vec![document, if turns % 2 == 0 { "Done." } else { "Ok." }];
            (0..turns).for_each(|_| texts.extend(["continue", "Done."]));
            texts.push("continue");
            names.extend(kept(&stage, path, "T", true, &[chat(&texts)]).await);
        }
        assert_eq!(different(names), 4, "{path}");
    }
}

/// Tools or not, and whichever begins first.
#[tokio::test(flavor = "multi_thread")]
async fn a_chat_that_begins_as_one_with_tools_does_is_kept_once_it_goes_on() {
    for path in PATHS {
        for (system, is_first) in [("Another one.", false), ("The first.", false), ("Another one.", true)] {
            let stage = Stage::plain().await;
            let (mut chatting, mut working) = (vec!["hello", "Hello!", "q0"], vec!["hello", "Hello!", "go on"]);
            let work = async |texts: &[&str]| {
                let body = under(path, with_tools(path, &chat(texts)), "The first.");
                post(&stage, path, &[], &body).await.session()
            };
            let talk =
                async |texts: &[&str]| post(&stage, path, &[], &under(path, body(path, &chat(texts)), system)).await;
            let mut names = (Vec::new(), Vec::new());
            if !is_first {
                names.0.push(work(&working).await);
                assert_eq!(talk(&chatting).await.header("contextd-bypass"), Some("side_request"), "{path}");
            }
            for turn in ["q1", "q2", "q3", "q4", "q5"] {
                chatting.extend(["Yes.", turn]);
                names.1.push(talk(&chatting).await.session());
                working.extend(["Done.", turn]);
                names.0.push(work(&working).await);
            }
            // Another end of it is an edit.
            *chatting.last_mut().unwrap() = "rather q6";
            names.1.push(talk(&chatting).await.session());
            assert_eq!((different(names.0.clone()), different(names.1.clone())), (1, 1), "{path} {system} {is_first}");
            assert_ne!(names.0[0], names.1[0], "{path} {system}");
            assert_eq!(sessions(&stage).await, 2, "{path} {system} {is_first}");
            assert_eq!(stage.kept(&names.1[0]).await, chat(&chatting), "{path} {system} {is_first}");
            // What asks for a title with all that was said is part of neither.
            working.extend(["Done.", "TITLE of this"]);
            let title = under(path, body(path, &chat(&working)), "You name conversations.");
            let got = post(&stage, path, &[], &title).await;
            assert_eq!(got.header("contextd-bypass"), Some("side_request"), "{path} {system} {is_first}");
        }
    }
}

/// Nothing proves the one to be more of the other.
#[tokio::test(flavor = "multi_thread")]
async fn an_edit_of_the_first_question_begins_another_conversation() {
    let stage = Stage::plain().await;
    let first = chat(&["Port the parser.", "Done.", "and the lexer", "Done.", "thanks"]);
    let edited = chat(&["Port the printer.", "Done.", "and the lexer", "Done.", "thanks", "Welcome.", "bye"]);
    for path in [CHAT, RESPONSES, MESSAGES] {
        let names = kept(&stage, path, path, true, &[first.clone(), edited.clone()]).await;
        assert_eq!(different(names), 2, "{path}");
    }
}

/// Two turns of `who`: what is said and answered there, with `*` for its name.
fn talk(who: &str, turns: &[[&str; 2]], count: usize) -> Vec<Value> {
    let texts: Vec<String> = turns.iter().flatten().take(2 * count + 1).map(|text| text.replace('*', who)).collect();
    chat(&texts.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Customers of one product, all greeted alike: what each was answered tells them apart, and what they said before.
#[tokio::test(flavor = "multi_thread")]
async fn who_says_the_same_and_hears_something_else_is_another_conversation() {
    const GREETED: [&str; 2] = ["Hi", "How can I help?"];
    let go_on = ["continue", "Done."];
    let kinds: [[[&str; 2]; 6]; 6] = [
        [GREETED, ["My order?", "* is sent."], ["When?", "Soon, *."], ["Thanks", "*!"], ["Bye", "Bye *."], go_on],
        [GREETED, go_on, ["go on", "* found"], go_on, go_on, go_on],
        [GREETED, ["order *", "Found."], go_on, go_on, go_on, go_on],
        [GREETED, go_on, go_on, ["order *", "Found *."], go_on, go_on],
        [
            GREETED,
            ["続けて", "*です。"],
            ["続けて", "はい。"],
            ["続けて", "はい。"],
            ["続けて", "はい。"],
            ["次", "はい。"],
        ],
        [GREETED, ["weiter", "Gut, *."], ["und nun *?", "Gut."], ["weiter", "Gut."], ["weiter", "Gut."], ["*", "Gut."]],
    ];
    for (path, (tools, orders)) in PATHS
        .into_iter()
        .flat_map(|path| [(false, "abcabcabcabcabc"), (true, "aaabbcabcacb")].map(|order| (path, order)))
    {
        let stage = Stage::plain().await;
        for (kind, turns) in kinds.iter().enumerate() {
            let system = format!("Shop {}.", ["a", "b", "c", "d", "e", "f"][kind]);
            let (mut counts, mut last) = ([0; 3], [const { String::new() }; 3]);
            for who in orders.bytes().map(|who| usize::from(who - b'a')) {
                counts[who] += 1;
                let items = talk(["Ana", "Bo", "Cy"][who], turns, counts[who]);
                last[who] = kept(&stage, path, &system, tools, &[items]).await.remove(0);
            }
            assert_eq!(different(last.to_vec()), 3, "{path} {kind} {tools}");
            for who in 0..3 {
                let said = talk(["Ana", "Bo", "Cy"][who], turns, counts[who]);
                assert_eq!(stage.kept(&last[who]).await, said, "{path} {kind} {tools} {who}");
            }
        }
    }
}

/// A client that leaves out of an answer what it once was, or of an old result what it said, has one conversation.
#[tokio::test(flavor = "multi_thread")]
async fn answers_that_a_client_writes_anew_are_the_same_conversation() {
    for path in PATHS {
        let stage = Stage::plain().await;
        let request = |turns: usize| {
            let mut items = chat(&["Port it.", "I will."]);
            for turn in 0..turns {
                let told = if turn + 1 == turns { "<think>Hm.</think>Step" } else { "Step" };
                items.push(said("user", &format!("part {turn}")));
                items.push(said("assistant", &format!("{told} {turn}")));
            }
            items.push(said("user", "next"));
            items
        };
        let names = kept(&stage, path, "S", true, &(1..9).map(request).collect::<Vec<_>>()).await;
        assert_eq!((different(names), sessions(&stage).await), (1, 1), "{path}");
    }
}

/// What a process remembers may be gone: what is stored tells the conversations apart, whichever speaks first.
#[tokio::test(flavor = "multi_thread")]
async fn they_are_told_apart_behind_a_restart() {
    let turns = [
        ["Hi", "How can I help?"],
        ["order", "Of *."],
        ["which, *?", "The first."],
        ["go on", "Done."],
        ["go on", "Done."],
        ["go on", "Done."],
    ];
    let mut stage = Stage::plain().await;
    for (path, system) in PATHS.iter().zip(["Shop.", "Bank.", "School."]) {
        let mut names = [const { Vec::new() }; 3];
        let ask = async |stage: &Stage, who: usize, count: usize| {
            let items = talk(["Ana", "Bo", "Cy"][who], &turns, count);
            kept(stage, path, system, false, &[items]).await.remove(0)
        };
        for count in 1..4 {
            names[0].push(ask(&stage, 0, count).await);
            names[1].push(ask(&stage, 1, count).await);
        }
        let Stage { app, provider, client, _config } = stage;
        let app = tokio::task::spawn_blocking(move || app.kill_and_restart()).await.unwrap();
        stage = Stage { app, provider, client, _config };
        // A third one comes, and the others go on.
        for count in 2..5 {
            names[2].push(ask(&stage, 2, count).await);
            names[1].push(ask(&stage, 1, count + 1).await);
            names[0].push(ask(&stage, 0, count + 1).await);
        }
        assert_eq!(different(names[0].clone()), 1, "{path}: {names:?}");
        let last: Vec<String> = names.iter().map(|names| names.last().unwrap().clone()).collect();
        assert_eq!(different(last.clone()), 3, "{path}: {names:?}");
        assert_eq!(different(names[1][2..].to_vec()), 1, "{path}: {names:?}");
        for (who, count) in [(0, 5), (1, 5), (2, 4)] {
            let said = talk(["Ana", "Bo", "Cy"][who], &turns, count);
            assert_eq!(stage.kept(&last[who]).await, said, "{path} {who}");
        }
    }
}
