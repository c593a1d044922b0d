//! An agent that works for 80 turns of sessions, made up and real, and closes its chapters when it is asked to.

use serde_json::{Value, json};

use super::{chaptered, file, names, original};
use crate::app::App;
use crate::corpus::of;
use crate::data::Source;
use crate::drill_support::{all, context, messages};
use crate::drill_valid::violations;
use crate::made_up;

const TURNS: usize = 80;

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_closes_chapters_through_80_turns_and_reads_back_what_it_closed() {
    work_through(turns_of(made_up::items("anthropic", TURNS)), 6_000).await;
}

/// The first turns of two long sessions, one after the other.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(shared), ignore = "needs ../shared")]
async fn an_agent_closes_chapters_through_80_recorded_turns() {
    let mut long = of(Source::Shared);
    long.retain(|one| one.name.starts_with("entireio-cli"));
    long.sort_by_key(|one| std::cmp::Reverse(one.items.iter().filter(|item| begins(item)).count()));
    work_through(turns_of(long.into_iter().flat_map(|one| one.items)), 30_000).await;
}

async fn work_through(turns: Vec<Vec<Value>>, trigger: u64) {
    let app = App::shared();
    let mut settings = chaptered(trigger);
    settings["context_window"] = json!(1_000_000);
    let session = app.session(json!({"settings": settings})).await;
    let mut agent = Agent { app, session, asked: 0, folded: 0, largest: 0 };
    for turn in &turns {
        agent.work(turn).await;
    }
    assert!(agent.asked >= 5, "asked {} times", agent.asked);
    assert!(agent.folded >= 1, "never folded again");
    let items: Vec<&Value> = turns.iter().flatten().collect();
    let closed = agent.check_folders().await;
    agent.check_ledger(&items).await;
    let word = agent.check_search().await;
    let unclosed: u64 = agent.unclosed().await;
    println!(
        "{TURNS} turns, {} items: asked {} times, {} foldings, largest context {} tokens, whole {unclosed} tokens, \
         {closed} originals read back from folders, {word:?} found by search",
        items.len(),
        agent.asked,
        agent.folded,
        agent.largest,
    );
}

fn turns_of(items: impl IntoIterator<Item = Value>) -> Vec<Vec<Value>> {
    let mut turns: Vec<Vec<Value>> = Vec::new();
    for item in items {
        if begins(&item) {
            if turns.len() == TURNS {
                break;
            }
            turns.push(Vec::new());
        }
        if let Some(turn) = turns.last_mut() {
            turn.push(item);
        }
    }
    assert_eq!(turns.len(), TURNS);
    turns
}

/// The text of a message's content.
fn said(content: &Value) -> String {
    let parts = content.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    content.as_str().into_iter().chain(parts).collect::<Vec<_>>().join(" ")
}

fn begins(item: &Value) -> bool {
    let is_result = |part: &Value| part["type"] == "tool_result";
    item["role"] == "user" && !item["content"].as_array().is_some_and(|parts| parts.iter().any(is_result))
}

struct Agent<'a> {
    app: &'a App,
    session: String,
    asked: usize,
    folded: usize,
    largest: u64,
}

impl Agent<'_> {
    async fn work(&mut self, turn: &[Value]) {
        let body = json!({"format": "anthropic", "items": turn});
        let answer = self.app.post(&format!("{}/entries", self.session), body).await.expect(201);
        self.largest = self.largest.max(answer["snapshot"]["tokens"].as_u64().unwrap());
        if answer["snapshot"]["chapter_task"]["pending"] == true {
            self.asked += 1;
            self.close().await;
        }
    }

    /// Folds the chapters that stand in front where there are many, and closes what is done but for the last two.
    async fn close(&mut self) {
        let task = self.app.get(&format!("{}/chapter-task", self.session)).await.expect(200);
        let tasks = task["tasks"].as_array().unwrap();
        let chapters = tasks.iter().take_while(|task| task["state"] == "chapter").count();
        let done = tasks[chapters..].iter().take_while(|task| task["state"] == "done").count();
        let mut ranges = Vec::new();
        if chapters >= 3 {
            self.folded += 1;
            ranges.push((1, chapters, format!("Volume {}", self.folded)));
        }
        let size = |tasks: &[Value]| tasks.iter().map(|task| task["tokens"].as_u64().unwrap()).sum::<u64>();
        // A chapter over a few words would be larger than they are.
        if done > 2 && size(&tasks[chapters..chapters + done - 2]) > 500 {
            ranges.push((chapters + 1, chapters + done - 2, format!("Part {}", self.asked)));
        }
        let chapter = |(start, end, name): &(usize, usize, String)| {
            let titles: Vec<&str> = tasks[start - 1..*end].iter().map(|task| task["title"].as_str().unwrap()).collect();
            json!({"start": start, "end": end, "name": name, "message": titles.join("\n")})
        };
        let chapters: Vec<Value> = ranges.iter().map(chapter).collect();
        let before = self.context().await;
        let answer = self.app.post(&format!("{}/chapters", self.session), json!({"chapters": chapters})).await;
        let answer = answer.expect(201);
        assert_eq!(answer["refused"], json!([]));
        assert_eq!(answer["snapshot"]["chapter_task"]["pending"], false);
        let after = self.context().await;
        assert!(ranges.is_empty() || after["tokens"].as_u64() < before["tokens"].as_u64());
    }

    async fn context(&self) -> Value {
        let context = context(self.app, &self.session, "anthropic").await;
        assert_eq!(violations("anthropic", messages(&context), true), [""; 0]);
        context
    }

    /// Finds a word by search that stands in one entry alone, which is shown no more.
    async fn check_search(&self) -> String {
        let entries = all(self.app, &format!("{}/entries", self.session)).await;
        let texts: Vec<String> = entries.iter().map(|entry| entry["item"].to_string().to_lowercase()).collect();
        let shown = self.context().await["messages"].to_string().to_lowercase();
        let stands_once = |word: &str| texts.iter().filter(|text| text.contains(word)).count() == 1;
        let mut words = entries.iter().filter(|entry| entry["type"] == "message").flat_map(|entry| {
            let said = said(&entry["item"]["content"]);
            let words = said.split(|letter: char| !letter.is_ascii_alphanumeric());
            let words = words.filter(|word| word.len() >= 8 && word.bytes().all(|byte| byte.is_ascii_lowercase()));
            words.map(|word| (entry["id"].clone(), word.to_owned())).collect::<Vec<_>>()
        });
        let (id, word) = words.find(|(_, word)| !shown.contains(word.as_str()) && stands_once(word)).expect("a word");
        let found = self.app.get(&format!("{}/search?q={word}", self.session)).await.expect(200);
        let found: Vec<&Value> = found["items"].as_array().unwrap().iter().map(|item| &item["entry_id"]).collect();
        assert_eq!(found, [&id], "{word}");
        word
    }

    /// Reads every event of every chapter and finds it as it was appended; the nested ones too.
    async fn check_folders(&self) -> usize {
        let entries = all(self.app, &format!("{}/entries", self.session)).await;
        let items: Vec<&Value> = entries.iter().filter(|e| e["type"] == "message").map(|e| &e["item"]).collect();
        let listed = self.app.get(&format!("{}/chapters", self.session)).await.expect(200);
        let mut open: Vec<Value> = listed["items"].as_array().unwrap().iter().rev().cloned().collect();
        assert!(open.iter().any(|chapter| !chapter["chapters"].as_array().unwrap().is_empty()));
        let (mut read, mut expected) = (0, items.iter());
        while let Some(chapter) = open.pop() {
            let path = chapter["path"].as_str().unwrap().trim_start_matches('/').to_owned();
            let nested = chapter["chapters"].as_array().unwrap();
            if !nested.is_empty() {
                // The agent folds nothing but chapters.
                assert_eq!(names(self.app, &self.session, &format!("{path}events")).await, [""; 0]);
            }
            for name in names(self.app, &self.session, &format!("{path}events")).await {
                let text = file(self.app, &self.session, &format!("{path}events/{name}")).await;
                let item: Value = serde_json::from_str(original(&text)).unwrap();
                assert_eq!(Some(&&item), expected.next(), "{path}events/{name}");
                read += 1;
            }
            open.extend(nested.iter().rev().cloned());
        }
        read
    }

    async fn check_ledger(&self, items: &[&Value]) {
        let parts = items.iter().filter_map(|item| item["content"].as_array()).flatten();
        let ids: Vec<&Value> = parts.filter(|part| part["type"] == "tool_use").map(|part| &part["id"]).collect();
        let calls = all(self.app, &format!("{}/tool-calls", self.session)).await;
        assert_eq!(calls.iter().map(|call| &call["tool_call_id"]).collect::<Vec<_>>(), ids);
    }

    /// The size that the context would have without chapters.
    async fn unclosed(&self) -> u64 {
        let entries = all(self.app, &format!("{}/entries", self.session)).await;
        let messages = entries.iter().filter(|entry| entry["type"] == "message");
        messages.map(|entry| entry["tokens"].as_u64().unwrap()).sum()
    }
}
