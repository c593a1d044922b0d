//! agex 0.12.4's answers, its own and some worked out by its rules: task index, ranges, refusals, the log after each
//! round, the folders, the slugs. Two differences are meant: a task in progress can't be closed, and slugs are stored.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;
use uuid::Uuid;

use super::tests::told;
use super::*;
use crate::compaction::prepare::tests::entry;
use crate::data::Source;
use crate::model::entry::EntryMeta;
use crate::model::entry_type::EntryType;
use crate::model::message::Role;

/// The path with its chapters in place, as a view is planned on.
pub fn folded(path: &[EntryMeta], folds: &[ShownFold]) -> Vec<EntryMeta> {
    let head = |slot: Slot| match slot {
        Slot::Entry(index) => path[index].clone(),
        Slot::Chapter { entry, fold } => {
            EntryMeta { role: Some(Role::Custom), depth: folds[fold].fold.place, ..path[entry].clone() }
        }
    };
    arrange(path, folds).into_iter().map(head).collect()
}

/// A session that is closed into chapters round by round.
struct Log {
    path: Vec<EntryMeta>,
    texts: HashMap<Uuid, String>,
    root: Vec<ShownFold>,
    chapters: HashMap<Uuid, Chapter>,
    ended: bool,
}

impl Log {
    fn of(events: &[Value]) -> Log {
        let (mut path, mut texts) = (Vec::new(), HashMap::new());
        for (index, event) in events.iter().enumerate() {
            let calls = events.get(index + 1).is_some_and(|next| next["t"] == "output");
            let word = match event["t"].as_str().unwrap() {
                "task" => "u1".to_owned(),
                "action" if calls => format!("a1:{}", index + 1),
                "output" => format!("t1:{index}"),
                _ => "a1".to_owned(),
            };
            let mut head = entry(index, &word);
            head.shape.chapter_task = event["name"] == "__chapter__";
            texts.insert(head.id, event["message"].as_str().unwrap_or_default().to_owned());
            path.push(head);
        }
        let last = events.last().and_then(|event| event["t"].as_str()).unwrap_or_default();
        let ended = ["success", "fail", "clarify", "cancelled"].contains(&last);
        Log { path, texts, root: Vec::new(), chapters: HashMap::new(), ended }
    }

    fn heads(&self) -> Vec<EntryMeta> {
        folded(&self.path, &self.root)
    }

    fn tasks(&self) -> Vec<TaskSpan> {
        told(&self.heads(), &self.root, self.ended)
    }

    /// The refused ones, or that two overlap.
    fn round(&mut self, asked: &[Value]) -> Result<Vec<Value>, Overlap> {
        let (heads, tasks) = (self.heads(), self.tasks());
        let number = |asked: &Value, name: &str| asked[name].as_i64().unwrap();
        let ranges: Vec<TaskRange> =
            asked.iter().map(|one| TaskRange { start: number(one, "start"), end: number(one, "end") }).collect();
        let answers = check(&ranges, &tasks, &heads)?;
        let mut slugs = Slugs::new(self.root.iter().map(|shown| self.chapters[&shown.fold.chapter].slug.clone()));
        let (mut refused, mut new) = (Vec::new(), Vec::new());
        for (answer, asked) in answers.into_iter().zip(asked) {
            match answer.and_then(|range| close(&tasks, range, &heads, &BTreeSet::new(), &self.root)) {
                Err(_) => refused.push(asked.clone()),
                Ok(closing) => new.push((closing, asked)),
            }
        }
        for (closing, asked) in new {
            let mut head = entry(self.path.len(), "l0");
            head.kind = EntryType::Chapter;
            let Closing { hidden, from, to, place, verbatim, chapters } = closing;
            let fold = Fold { chapter: head.id, depth: head.depth, from, to, place, verbatim };
            let gone: Vec<Uuid> = hidden.iter().map(|index| heads[*index].id).collect();
            self.root.retain(|shown| !gone.contains(&shown.fold.chapter));
            let text = |name: &str| asked[name].as_str().unwrap().to_owned();
            let chapter = Chapter {
                name: text("name"),
                message: text("message"),
                slug: slugs.take(&text("name")),
                start: 0,
                end: 0,
                tokens_before: hidden.len() as u64,
                tokens_after: 0,
                form: Form::Full,
                fold: fold.clone(),
                chapters,
            };
            self.chapters.insert(head.id, chapter);
            let zero = ShownFold {
                fold,
                tokens: 0,
                hidden_tokens: 0,
                hidden_result_tokens: 0,
                path_tokens_before: 0,
                path_result_tokens_before: 0,
            };
            self.root.push(zero);
            self.path.push(head);
        }
        self.root.sort_by_key(|shown| shown.fold.from);
        Ok(refused)
    }

    fn check_log(&self, expected: &[Value]) {
        let heads = self.heads();
        assert_eq!(heads.len(), expected.len());
        for (head, expected) in heads.iter().zip(expected) {
            let is_chapter = expected["type"] == "ChapterEvent";
            assert_eq!(head.kind == EntryType::Chapter, is_chapter);
            if let Some(chapter) = self.chapters.get(&head.id) {
                assert_eq!((&chapter.name, &chapter.message), (&text(expected, "name"), &text(expected, "message")));
                assert_eq!(Some(chapter.tokens_before), expected["refs"].as_u64());
            } else {
                assert_eq!(head.role == Some(Role::User), expected["type"] == "TaskStartEvent");
            }
        }
    }

    fn check_index(&self, round: &Value) {
        let (heads, tasks) = (self.heads(), self.tasks());
        let ranges: Vec<[usize; 2]> = tasks.iter().map(|task| [task.entries.start, task.entries.end]).collect();
        assert_eq!(serde_json::to_value(ranges).unwrap(), round["ranges"]);
        assert_eq!(
            tasks.iter().any(|task| matches!(task.state, TaskState::Done | TaskState::Chapter)),
            round["completable"]
        );
        let index = round["index"].as_str().unwrap();
        assert_eq!(index.lines().count(), tasks.len());
        for ((task, line), n) in tasks.iter().zip(index.lines()).zip(1..) {
            assert_eq!(line.starts_with(&format!("[{n}] chapter ")), task.state == TaskState::Chapter, "{line}");
            assert_eq!(line.ends_with("(in progress)"), task.state == TaskState::InProgress, "{line}");
            let said = match task.chapter {
                Some(chapter) => title(&self.chapters[&chapter].name, 60),
                None => title(&self.texts[&heads[task.entries.start].id], 80),
            };
            assert!(line.contains(&said), "{line}: {said}");
        }
    }

    /// Files by path; of a summary the text, of an event nothing.
    fn files(&self) -> BTreeMap<String, Option<String>> {
        let mut files = BTreeMap::new();
        let mut open: Vec<(String, &Chapter)> =
            self.root.iter().map(|shown| (String::new(), &self.chapters[&shown.fold.chapter])).collect();
        while let Some((parent, chapter)) = open.pop() {
            let folder = format!("{parent}{}/", chapter.slug);
            files.insert(format!("{folder}summary.md"), Some(chapter.summary()));
            let own = own_depths(chapter);
            let is_own = |head: &&EntryMeta| own.iter().any(|(from, to)| (*from..=*to).contains(&head.depth));
            let names = event_names(self.path.iter().filter(is_own), &chapter.chapters);
            files.extend(names.into_iter().flatten().map(|name| (format!("{folder}events/{name}"), None)));
            let nested = chapter.chapters.iter().map(|fold| &self.chapters[&fold.chapter]);
            open.extend(nested.map(|nested| (format!("{folder}chapters/"), nested)));
        }
        files
    }
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap().to_owned()
}

/// Our words for its events.
fn ours(path: &str) -> String {
    let renamed = [("taskstart", "user"), ("action", "assistant"), ("output", "tool"), ("success", "assistant")];
    let ended = [("fail", "assistant"), ("clarify", "assistant"), ("cancelled", "assistant")];
    let stem = path.strip_suffix(".md").unwrap();
    let mut path = stem.to_owned();
    for (theirs, ours) in renamed.into_iter().chain(ended) {
        if let Some(rest) = stem.strip_suffix(&format!("-{theirs}")) {
            path = format!("{rest}-{ours}");
        }
    }
    format!("{path}.md")
}

fn check_case(case: &Value, out: &Value) {
    let mut log = Log::of(case["events"].as_array().unwrap());
    for (asked, round) in case["rounds"].as_array().unwrap().iter().zip(out["rounds"].as_array().unwrap()) {
        log.check_index(round);
        match log.round(asked.as_array().unwrap()) {
            Ok(refused) => {
                assert_eq!(Value::from(refused), round["skipped"]);
                assert!(round["error"].is_null());
            }
            Err(_) => assert!(round["error"].is_string()),
        }
        log.check_log(round["log"].as_array().unwrap());
    }
    let expected = out["vfs"].as_object().unwrap();
    let expected: BTreeMap<String, Option<String>> =
        expected.iter().map(|(path, text)| (ours(path), text.as_str().map(str::to_owned))).collect();
    assert_eq!(log.files(), expected);
}

#[test]
fn chapters_are_closed_by_the_rules_of_agex() {
    assert_eq!(cases_hold(Source::Own), 7);
}

#[test]
#[cfg_attr(not(shared), ignore = "needs ../shared")]
fn agex_would_have_done_the_same() {
    assert_eq!(cases_hold(Source::Shared), 8);
}

/// How many cases there are.
fn cases_hold(source: Source) -> usize {
    let golden = source.text("oracle/agex/chapters.ndjson");
    for line in golden.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let (case, out) = (&line["case"], &line["out"]);
        if case["op"] == "slug" {
            for (name, slug) in out.as_object().unwrap() {
                assert_eq!(Slugs::default().take(name), slug.as_str().unwrap(), "{name:?}");
            }
        } else {
            check_case(case, out);
        }
    }
    golden.lines().count()
}
