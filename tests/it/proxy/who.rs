//! Which conversation it is where several begin alike, or one is told anew: in the shapes of published agents.

use reqwest::Method;
use serde_json::{Value, json};

use super::{CHAT, Got, MESSAGES, RESPONSES, Stage, body};
use crate::drill_support::all;

pub(super) const PATHS: [&str; 3] = [CHAT, RESPONSES, MESSAGES];

pub(super) fn said(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

/// What the user and the model have said in turn.
pub(super) fn chat(texts: &[&str]) -> Vec<Value> {
    texts.iter().enumerate().map(|(at, text)| said(if at % 2 == 0 { "user" } else { "assistant" }, text)).collect()
}

pub(super) fn with_tools(path: &str, items: &[Value]) -> Value {
    let mut body = body(path, items);
    let schema = json!({"type": "object", "properties": {}});
    body["tools"] = match path {
        CHAT => json!([{"type": "function", "function": {"name": "read", "parameters": schema}}]),
        RESPONSES => json!([{"type": "function", "name": "read", "parameters": schema}]),
        _ => json!([{"name": "read", "input_schema": schema}]),
    };
    body
}

/// The same under another system prompt.
pub(super) fn under(path: &str, mut body: Value, system: &str) -> Value {
    match path {
        CHAT => body["messages"].as_array_mut().unwrap().insert(0, said("system", system)),
        RESPONSES => body["instructions"] = json!(system),
        _ => body["system"] = json!(system),
    }
    body
}

pub(super) async fn post(stage: &Stage, path: &str, headers: &[(&str, &str)], body: &Value) -> Got {
    stage.send(Method::POST, path, headers, body.to_string()).await
}

pub(super) async fn sessions(stage: &Stage) -> usize {
    all(&stage.app, "/v1/sessions").await.len()
}

/// Everything that is stored in any session, on any branch.
async fn stored(stage: &Stage) -> String {
    let mut text = String::new();
    for session in all(&stage.app, "/v1/sessions").await {
        let path = format!("/v1/sessions/{}/entries?all=true", session["id"].as_str().unwrap());
        text += &Value::from(all(&stage.app, &path).await).to_string();
    }
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn two_chats_with_one_beginning_are_two_sessions() {
    for path in PATHS {
        let stage = Stage::plain().await;
        let (mut one, mut other) = (vec!["hello", "Hello!"], vec!["hello", "Hello!"]);
        let mut kept = (String::new(), String::new());
        for turn in ["first", "second", "third"] {
            let (a, b) = (format!("{turn} of one"), format!("{turn} of the other"));
            one.push(Box::leak(a.into_boxed_str()));
            kept.0 = post(&stage, path, &[], &body(path, &chat(&one))).await.session();
            other.push(Box::leak(b.into_boxed_str()));
            kept.1 = post(&stage, path, &[], &body(path, &chat(&other))).await.session();
            one.push("Done.");
            other.push("Done.");
        }
        assert_ne!(kept.0, kept.1, "{path}");
        assert_eq!(sessions(&stage).await, 2, "{path}");
        for (session, texts) in [(&kept.0, &one), (&kept.1, &other)] {
            assert_eq!(stage.kept(session).await, chat(&texts[..texts.len() - 1]), "{path}");
        }
        // Neither goes astray where nothing is remembered.
        let app = stage.app.stop_and_restart().1;
        let stage = Stage { app, ..stage };
        for (session, texts) in [(&kept.0, &mut one), (&kept.1, &mut other)] {
            texts.push("and once more");
            assert_eq!(&post(&stage, path, &[], &body(path, &chat(texts))).await.session(), session, "{path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_of_the_end_stays_a_branch() {
    for path in PATHS {
        let stage = Stage::plain().await;
        let mut kept = Vec::new();
        for texts in [
            &["hello", "Hello!", "fix it"][..],
            &["hello", "Hello!", "rather explain it"],
            &["hello", "Hello!", "rather explain it", "So.", "more"],
            &["hello", "Hello!", "rather explain it", "So.", "less"],
            &["hello", "Hello!", "rather explain it", "So.", "less", "Well.", "thanks"],
        ] {
            kept.push(post(&stage, path, &[], &body(path, &chat(texts))).await.session());
        }
        kept.dedup();
        assert_eq!((kept.len(), sessions(&stage).await), (1, 1), "{path}");
    }
}

/// aider shows its model an example first, and the files of the chat again behind the history.
#[tokio::test(flavor = "multi_thread")]
async fn two_runs_of_aider_are_two_sessions() {
    let stage = Stage::plain().await;
    let headers = [("user-agent", "litellm/1.75.0")];
    let request = |project: &str, turns: usize| {
        let mut items = vec![said("system", "Act as an expert software developer.")];
        items.extend(chat(&["Change get_factorial() to use math.factorial", "I need to make 3 changes: …"]));
        items.extend(chat(&["I switched to a new code base. Please don't consider the above files.", "Ok."]));
        items.extend(chat(&[
            &format!("Here are summaries of some files: {project}.py"),
            "Ok, I won't try and edit them.",
        ]));
        for turn in 0..turns {
            items.extend(chat(&[&format!("{project} task {turn}"), "It is done."]));
        }
        let files = format!("I have *added these files to the chat*: {project}.py as of {turns}");
        items.extend(chat(&[&files, "Ok, any changes I propose will be to those files."]));
        items.push(said("user", &format!("{project} task {turns}")));
        json!({"model": "gpt-5", "messages": items})
    };
    let mut kept = [Vec::new(), Vec::new()];
    for turn in 0..4 {
        for (project, kept) in ["one", "other"].iter().zip(&mut kept) {
            kept.push(post(&stage, CHAT, &headers, &request(project, turn)).await.session());
        }
    }
    kept.iter_mut().for_each(Vec::dedup);
    assert!(kept[0].len() == 1 && kept[1].len() == 1 && kept[0] != kept[1], "{kept:?}");
    assert_eq!(sessions(&stage).await, 2);
    let session = stage.app.get(&kept[0][0]).await.expect(200);
    assert_eq!(session["title"], "one task 0", "and no example's");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_and_under_what_system_prompt_counts() {
    let stage = Stage::plain().await;
    for path in PATHS {
        let texts = chat(&["hello", "Hello!", "go on"]);
        let by = async |agent: &str, system: &str| {
            post(&stage, path, &[("user-agent", agent)], &under(path, body(path, &texts), system)).await.session()
        };
        let first = by("one/1.0.7 (linux)", "You are in /work/a. It is 10:01.").await;
        assert_eq!(by("one/2.0.0", "You are in /work/a. It is 9:59.").await, first, "{path}: another version, later");
        assert_ne!(by("other/1.0.7", "You are in /work/a. It is 10:01.").await, first, "{path}");
        assert_ne!(by("one/1.0.7", "You are in /work/b. It is 10:01.").await, first, "{path}");
        let far = format!("You are in /work/a. It is 10:01.{} clock", "x".repeat(400));
        let farther = far.replace("clock", "another");
        assert_eq!(by("one/1", &far).await, by("one/1", &farther).await, "{path}: the beginning counts");
    }
}

/// Codex names its thread, changes its preamble with the time, and sums up by itself: what stays are the user's words.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_codex_is_one_session() {
    let stage = Stage::plain().await;
    let message = |role: &str, text: &str| {
        let kind = if role == "user" { "input_text" } else { "output_text" };
        json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
    };
    for headers in [
        &[("thread-id", "t1"), ("session-id", "t1")][..],
        &[("session_id", "s7")],
        &[("x-session-id", "s8")],
        &[("contextd-session", "s9")],
    ] {
        let before = sessions(&stage).await;
        let mut kept = Vec::new();
        for compaction in 0..5 {
            let environment = format!("<environment_context><date>2026-11-{compaction}</date></environment_context>");
            let mut items = vec![message("user", &environment), message("user", "Work through the steps.")];
            if compaction > 0 {
                let summary = format!(
                    "Another language model started to solve this problem and produced a summary: {compaction}"
                );
                items.push(message("user", &summary));
            }
            for call in 0..3 {
                let id = format!("call_{compaction}_{call}");
                items.push(json!({"type": "function_call", "call_id": id, "name": "read", "arguments": "{}"}));
                items.push(json!({"type": "function_call_output", "call_id": id, "output": format!("step {id}")}));
                let got = post(&stage, RESPONSES, headers, &with_tools(RESPONSES, &items)).await;
                kept.push(got.session());
            }
        }
        kept.dedup();
        assert_eq!((kept.len(), sessions(&stage).await - before), (1, 1), "{headers:?}");
        let session = stage.app.get(&kept[0]).await.expect(200);
        assert_eq!(session["title"], "Work through the steps.", "no preamble");
    }
}

/// Claude Code goes on behind its own summary under the same id; an older one has no other id for its agents.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_claude_code_is_one_session_and_its_agent_another() {
    let stage = Stage::plain().await;
    let headers = [("x-claude-code-session-id", "c1"), ("user-agent", "claude-cli/1.0.98 (external, cli)")];
    let main = async |texts: &[&str]| post(&stage, MESSAGES, &headers, &with_tools(MESSAGES, &chat(texts))).await;
    let reminder = "<system-reminder>Today is 2026-11-26.</system-reminder>";
    let first = main(&[&format!("{reminder}\nfix the parser"), "It is fixed.", "run the tests"]).await.session();
    let later = reminder.replace("26", "27");
    let resumed =
        main(&[&format!("{later}\nfix the parser"), "It is fixed.", "run the tests", "All pass.", "thanks"]).await;
    assert_eq!(resumed.session(), first, "resumed on another day");
    let summary = "This session is being continued from a previous conversation that ran out of context. It was fixed.";
    assert_eq!(main(&[summary, "I see.", "now the lexer"]).await.session(), first, "behind its own summary");
    let agent =
        under(MESSAGES, with_tools(MESSAGES, &chat(&["look for callers", "Two.", "which?"])), "You are an agent.");
    assert_ne!(post(&stage, MESSAGES, &headers, &agent).await.session(), first);
    assert_eq!(sessions(&stage).await, 2);
}

/// qwen-code, and others without an id, keep the newest turns behind their summary.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_sums_up_without_an_id_stays_one_session() {
    for path in PATHS {
        let stage = Stage::plain().await;
        let begun = ["fix it", "I look.", "look at a", "Done.", "look at b", "Done.", "look at c"];
        let first = post(&stage, path, &[], &with_tools(path, &chat(&begun))).await.session();
        let summed =
            ["<state_snapshot>…</state_snapshot>", "Got it.", "look at b", "Done.", "look at c", "Done.", "and d"];
        assert_eq!(post(&stage, path, &[], &with_tools(path, &chat(&summed))).await.session(), first, "{path}");
        let edited = [
            "<env>Friday</env> fix it",
            "I look.",
            "look at b",
            "Done.",
            "look at c",
            "Done.",
            "and d",
            "Yes.",
            "and e",
        ];
        assert_eq!(post(&stage, path, &[], &with_tools(path, &chat(&edited))).await.session(), first, "{path}");
        assert_eq!(sessions(&stage).await, 1, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_title_is_no_conversation_and_part_of_none() {
    let schema = json!({"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]});
    let named: [&[(&str, &str)]; 5] = [
        &[("x-claude-code-session-id", "c1")],
        &[("x-opencode-session", "o1")],
        &[("thread-id", "t1")],
        &[("x-session-affinity", "a1")],
        &[],
    ];
    for path in PATHS {
        for headers in named {
            let stage = Stage::plain().await;
            let asked = under(path, body(path, &chat(&["TITLE of: fix the parser"])), "You name conversations.");
            let mut formed = under(path, body(path, &chat(&["TITLE of:", "Yes?", "fix the parser"])), "You name them.");
            match path {
                CHAT => formed["response_format"] = json!({"type": "json_schema", "json_schema": {"schema": schema}}),
                RESPONSES => formed["text"] = json!({"format": {"type": "json_schema", "name": "t", "schema": schema}}),
                _ => formed["output_config"] = json!({"format": {"type": "json_schema", "schema": schema}}),
            }
            let with_history = chat(&["fix the parser", "It is fixed.", "TITLE of all this"]);
            let with_history = under(path, body(path, &with_history), "You name conversations.");
            for aside in [&asked, &formed] {
                let got = post(&stage, path, headers, aside).await;
                assert_eq!((got.status, got.header("contextd-session")), (200, None), "{path} {headers:?} before");
            }
            let mut texts = vec!["fix the parser", "It is fixed.", "run the tests"];
            let session = post(&stage, path, headers, &with_tools(path, &chat(&texts))).await.session();
            for aside in [&asked, &formed, &with_history] {
                let got = post(&stage, path, headers, aside).await;
                assert_eq!((got.status, got.header("contextd-session")), (200, None), "{path} {headers:?}: {aside}");
            }
            texts.extend(["All pass.", "thanks"]);
            assert_eq!(post(&stage, path, headers, &with_tools(path, &chat(&texts))).await.session(), session);
            assert_eq!((sessions(&stage).await, stage.kept(&session).await), (1, chat(&texts)), "{path} {headers:?}");
            assert!(!stored(&stage).await.contains("TITLE"), "{path} {headers:?}");
        }
    }
}

/// Sessions that an older version has named are gone on with, where they are of the same system prompt.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_an_older_version_is_found() {
    let stage = Stage::plain().await;
    let key = |text: &str| *blake3::hash(format!("{text}\n").as_bytes()).as_bytes();
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"user").update(&key("hello")).update(b"assistant").update(&key("Hello!"));
    let name = format!("content:{}", &hasher.finalize().to_hex()[..32]);
    let system = json!([{"type": "text", "text": "You are in /work/a."}]);
    let old = stage.app.session(json!({"external_id": name, "system": system})).await;
    let texts = chat(&["hello", "Hello!", "go on"]);
    let put = json!({"format": "openai_chat", "items": texts});
    stage.app.put(&format!("{old}/transcript"), put).await.expect(200);
    let in_project = |system: &str| under(CHAT, body(CHAT, &texts), system);
    assert_ne!(post(&stage, CHAT, &[], &in_project("You are in /work/b.")).await.session(), old);
    assert_eq!(post(&stage, CHAT, &[], &in_project("You are in /work/a.")).await.session(), old);
}
