//! Places of identifiers: the clause that says what a number measures, the line that says of what an id is.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::super::super::text::{one_line, plain, without_bullet};
use super::super::super::user_text::UserText;
use super::cues;
use crate::domain::model::identifier::TrackedIdentifier;
use crate::domain::model::message::{Block, Message, Role};
use crate::domain::summary::identifiers::clauses::{self, Clause, clauses, shape};
use crate::domain::summary::{identifiers, outcome};

/// Clauses that one span tells.
const MAX_CLAUSES: usize = 120;
/// What is only printed now and then needs no clause.
const LEAST_WEIGHT: u32 = 6;
/// More of one result than this is not searched, nor of all results together.
const RESULT_CHARS: usize = 20_000;
const ALL_RESULTS: usize = 1_000_000;

/// How well a clause tells, the better the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Telling {
    Printed,
    Stated,
    /// It says what the identifier is.
    Defined,
}

#[derive(Debug)]
struct Home {
    telling: Telling,
    at: usize,
    clause: String,
}

/// The clauses that tell of the wanted identifiers, in the order in which they were said. Paths speak for themselves, and
/// opaque ids of calls and messages for nobody.
pub fn of(messages: &[Message], told: &[UserText], wanted: &[&TrackedIdentifier]) -> Vec<String> {
    let wanted: Vec<&str> = wanted.iter().filter(|one| is_told(one)).map(|one| one.text.as_str()).collect();
    let mut search = Search::new(&wanted);
    for (at, (message, kind)) in messages.iter().zip(told).enumerate() {
        search.read(at, message, kind);
    }
    search.clauses(&wanted)
}

fn is_told(one: &TrackedIdentifier) -> bool {
    one.weight >= LEAST_WEIGHT && !one.text.contains(['/', '\\']) && !is_opaque(&one.text)
}

/// Returns true for the ids of calls and messages, which tell nobody anything.
pub fn is_opaque(text: &str) -> bool {
    const OPAQUE: [&str; 8] = ["toolu_", "call_", "msg_", "req_", "resp_", "fc_", "rs_", "chatcmpl-"];
    OPAQUE.iter().any(|opening| text.starts_with(opening))
}

/// What was found so far for each wanted identifier.
struct Search<'w> {
    places: HashMap<&'w str, usize>,
    homes: Vec<Option<Home>>,
    names: HashMap<String, String>,
    printed: usize,
}

impl<'w> Search<'w> {
    fn new(wanted: &[&'w str]) -> Search<'w> {
        let places = wanted.iter().enumerate().map(|(at, text)| (*text, at)).collect();
        Search { places, homes: wanted.iter().map(|_| None).collect(), names: HashMap::new(), printed: 0 }
    }

    fn read(&mut self, at: usize, message: &Message, kind: &UserText) {
        for block in &message.content {
            match block {
                Block::Text { text, .. } => match kind {
                    UserText::Output(text) => self.printed(at, "", text),
                    UserText::Said(_) | UserText::Continued(_) | UserText::Agent(_) => self.spoken(at, text),
                    UserText::Other if message.role == Role::Assistant => self.spoken(at, text),
                    UserText::Other => {}
                },
                Block::ToolCall(call) => {
                    self.names.insert(call.id.clone(), call.name.clone());
                }
                Block::ToolResult(result) => {
                    let name = self.names.get(&result.tool_call_id).cloned().unwrap_or_default();
                    self.printed(at, &name, &result.plain_text());
                }
                _ => {}
            }
        }
    }

    fn spoken(&mut self, at: usize, text: &str) {
        // A plan tells nothing.
        for sentence in clauses::spoken(text).filter(|sentence| !cues::is_intent(sentence)) {
            self.piece(at, Telling::Stated, "", &sentence);
        }
    }

    fn printed(&mut self, at: usize, name: &str, text: &str) {
        if self.printed > ALL_RESULTS {
            return;
        }
        self.printed += text.len().min(RESULT_CHARS);
        let end = text.char_indices().nth(RESULT_CHARS).map_or(text.len(), |(end, _)| end);
        let text = text.get(..end).unwrap_or(text).trim();
        let value = text.starts_with(['{', '[']).then(|| serde_json::from_str::<Value>(text).ok()).flatten();
        match value {
            Some(value) => objects(&value).iter().for_each(|object| self.piece(at, Telling::Printed, name, object)),
            None => {
                let lines = text.lines().filter(|line| !is_numbered(line) && !outcome::is_receipt(line.trim()));
                lines.for_each(|line| self.piece(at, Telling::Printed, "", &printed_line(line)));
            }
        }
    }

    fn piece(&mut self, at: usize, telling: Telling, name: &str, piece: &str) {
        let (places, homes) = (&self.places, &mut self.homes);
        clauses::each(piece, clauses::LONGEST, &mut |identifier: &str, clause: Clause<'_>| {
            let Some(home) = places.get(identifier).and_then(|place| homes.get_mut(*place)) else { return };
            let defined = telling == Telling::Stated && defines(clause.text(), identifier);
            let telling = if defined { Telling::Defined } else { telling };
            if home.as_ref().is_some_and(|home| home.telling > telling) {
                return;
            }
            if let Some(clause) = clause.telling(identifier) {
                let clause = if name.is_empty() { clause } else { format!("{name}: {clause}") };
                *home = Some(Home { telling, at, clause });
            }
        });
    }

    /// The clauses for those wanted most, each once: one clause is often home to several.
    fn clauses(mut self, wanted: &[&str]) -> Vec<String> {
        let mut covered: HashSet<String> = HashSet::new();
        let mut parts: HashSet<String> = HashSet::new();
        let mut chosen: Vec<(usize, Telling, String)> = Vec::new();
        for (place, text) in wanted.iter().enumerate() {
            if covered.contains(*text) || chosen.len() >= MAX_CLAUSES {
                continue;
            }
            let Some(home) = self.homes.get_mut(place).and_then(Option::take) else { continue };
            // Windows on one long line overlap.
            let told: Vec<bool> = clauses(&home.clause).iter().map(|part| parts.contains(part.trim())).collect();
            if told.iter().filter(|told| **told).count() * 5 > told.len() * 3 {
                continue;
            }
            parts.extend(clauses(&home.clause).iter().map(|part| part.trim().to_owned()));
            covered.extend(identifiers::extract(&home.clause));
            chosen.push((home.at, home.telling, home.clause));
        }
        chosen.sort_by_key(|(at, ..)| *at);
        let mut seen = HashSet::new();
        chosen.reverse();
        chosen.retain(|(_, telling, clause)| seen.insert(kind(*telling, clause)));
        chosen.reverse();
        chosen.into_iter().map(|(_, _, clause)| clause).collect()
    }
}

/// What clauses share of which the newest is told: lines of a log that differ in numbers and ids, runs that measured.
fn kind(telling: Telling, clause: &str) -> String {
    let measures = || identifiers::extract(clause).iter().all(|one| identifiers::is_measure(one));
    if telling == Telling::Printed && !clause.contains(": id ") || measures() {
        shape(clause)
    } else {
        clause.to_owned()
    }
}

/// Returns true if a clause goes on from the identifier to say what it is: "ABC-12 is the cache", "`ABC-12`: the cache".
fn defines(clause: &str, identifier: &str) -> bool {
    const GOES_ON: [&str; 9] = ["is ", "are ", "was ", "has ", "means ", "holds ", "- ", "— ", "– "];
    let Some((_, rest)) = clause.split_once(identifier) else { return false };
    let rest = rest.trim_start_matches(['`', '*', ')', '"', '\'']);
    rest.starts_with(": ") || GOES_ON.iter().any(|word| rest.trim_start().starts_with(word))
}

/// Returns true for a line of a file, with its number.
fn is_numbered(line: &str) -> bool {
    let line = line.trim_start();
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < line.len() && (rest.starts_with(['\t', '→', '|']) || rest.starts_with(": "))
}

/// A printed line without the number before it and the marks of a list.
fn printed_line(line: &str) -> String {
    plain(&one_line(without_bullet(line.trim_start().trim_start_matches(['#', '>', ' ']))))
}

/// The single values of each object in a JSON value, `key value` each.
fn objects(value: &Value) -> Vec<String> {
    let mut told = Vec::new();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(fields) => {
                let single = fields.iter().filter_map(|(key, value)| Some(format!("{key} {}", scalar(value)?)));
                told.push(single.collect::<Vec<_>>().join(", "));
                open.extend(fields.values().rev());
            }
            Value::Array(items) => open.extend(items.iter().rev()),
            _ => {}
        }
    }
    told.retain(|object| !object.is_empty());
    told
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() && text.len() <= clauses::LONGEST => Some(one_line(text)),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::super::testing::{assistant, call, result, user};
    use super::super::super::super::user_text;
    use super::*;

    fn found(messages: &[Message]) -> Vec<String> {
        let wanted = identifiers::extract_span(messages);
        of(messages, &user_text::of(messages), &wanted.iter().filter(|one| !one.is_rule()).collect::<Vec<_>>())
    }

    #[test]
    fn a_number_comes_with_what_it_measures() {
        let messages = [
            user("The budget is 30 seconds."),
            assistant(
                "Let me look at ABC-12. The import took 41 seconds before.\n\n| part | share |\n|---|---|\n| parsing | 73% |",
            ),
            call("c", "get_ticket", json!({"id": "ABC-12"})),
            result("c", r#"{"id": "ABC-12", "title": "Slow import", "tags": ["x"]}"#),
            assistant("I looked."),
        ];
        assert_eq!(
            found(&messages),
            [
                "The budget is 30 seconds.",
                "The import took 41 seconds before.",
                "parsing, 73%",
                "get_ticket: id ABC-12, title Slow import",
            ]
        );
    }

    #[test]
    fn items_of_one_list_stand_together() {
        let said = "Two flights:\n1. **Flight HAT136**:\n   - Departure: 07:00 PM\n   - Economy: $103\n2. **Flight HAT039**:\n   - Economy: $152";
        let found = found(&[assistant(said), assistant("x = {'HAT136': 1, 'price': \"$103\"};")]);
        assert_eq!(found, ["Flight HAT136: Departure: 07:00 PM; Economy: $103", "Flight HAT039: Economy: $152"]);
    }

    #[test]
    fn of_a_long_line_the_clause_is_told() {
        let long = format!(
            "The port is 8080 here; the timeout of the pool was raised to 250ms, {}",
            "and so on and on, ".repeat(20)
        );
        let clause = &found(&[assistant(&long)])[0];
        assert!(clause.contains("250ms") && clause.len() <= clauses::LONGEST && !clause.ends_with(','), "{clause}");
    }
}
