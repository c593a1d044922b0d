//! JSON told in little room: of like records each stays, with fewer and fewer of its fields.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::super::quote::{GAP, shortened, size, words};
use super::{COLUMN, DEEPEST, SHORT_VALUE, entries_joined, fields_joined, is_answer_of_none, is_empty};

/// How much of a value is told.
#[derive(Clone, Copy)]
struct ValueDetail {
    /// Fields of the outermost object.
    outermost: usize,
    /// Fields of an object within, and columns of a table.
    fields: usize,
    /// Rows of a table, and entries of a list.
    rows: usize,
    /// Quarter tokens of a text.
    text: usize,
}

/// From much to little.
const DETAILS: [ValueDetail; 9] = [
    ValueDetail { outermost: 64, fields: 64, rows: 400, text: 400 },
    ValueDetail { outermost: 16, fields: 12, rows: 100, text: 120 },
    ValueDetail { outermost: 12, fields: 8, rows: 60, text: 80 },
    ValueDetail { outermost: 8, fields: 5, rows: 40, text: 60 },
    ValueDetail { outermost: 7, fields: 4, rows: 24, text: 48 },
    ValueDetail { outermost: 6, fields: 3, rows: 16, text: 40 },
    ValueDetail { outermost: 5, fields: 2, rows: 10, text: 32 },
    ValueDetail { outermost: 4, fields: 1, rows: 8, text: 24 },
    ValueDetail { outermost: 3, fields: 1, rows: 4, text: 24 },
];
/// Texts of one word are told whole up to this size, in quarter tokens: what may be a record's name always, others while texts
/// have so much room.
const NAME: usize = 40;
const LONGEST_WORD: usize = 160;
const WHOLE_WORDS: usize = 40;
/// Before what all records of a table have alike, and how many fields of it are told.
const SAME: &str = "each:";
const MOST_SAME: usize = 4;
/// Records that are looked at to see in which fields they differ.
const COMPARED: usize = 64;

/// Whom the words of a value concern.
pub struct ValueWords<'w> {
    /// It was spoken of or used afterwards.
    pub heard: &'w dyn Fn(&str) -> bool,
    /// The call was given it: to say it again tells nothing.
    pub given: &'w dyn Fn(&str) -> bool,
}

/// A value in at most so many quarter tokens, with as much of it as there is room for.
pub fn within(value: &Value, room: usize, words: &ValueWords<'_>) -> Option<String> {
    let told = |detail: &ValueDetail| Outline { detail: *detail, words }.told(value, 0);
    DETAILS.iter().map(told).find(|told| !told.is_empty() && size(told) <= room)
}

/// A record: by itself, or held by a key.
struct KeyedRow<'v> {
    key: Option<&'v String>,
    fields: &'v Map<String, Value>,
}

struct Outline<'w> {
    detail: ValueDetail,
    words: &'w ValueWords<'w>,
}

impl Outline<'_> {
    fn told(&self, value: &Value, depth: usize) -> String {
        match value {
            Value::String(text) => self.text(text),
            Value::Object(_) | Value::Array(_) if depth > DEEPEST => GAP.to_owned(),
            Value::Object(fields) => match keyed_rows(fields) {
                Some(rows) => self.table(&rows, depth),
                None => self.object(fields, depth),
            },
            Value::Array(list) => match list.iter().map(Value::as_object).collect::<Option<Vec<_>>>() {
                Some(rows) if rows.len() > 1 => self
                    .table(&rows.into_iter().map(|fields| KeyedRow { key: None, fields }).collect::<Vec<_>>(), depth),
                _ => self.list(list, depth),
            },
            other => other.to_string(),
        }
    }

    /// A text with its beginning; one word whole or not at all, for half an address leads nowhere.
    fn text(&self, text: &str) -> String {
        let is_word = text.contains(|c: char| c.is_ascii_digit() || c == '/') && !text.contains(char::is_whitespace);
        if !is_word || size(text) <= self.detail.text {
            return shortened(text, self.detail.text, 0);
        }
        let whole = size(text) <= NAME || self.detail.text >= WHOLE_WORDS && size(text) <= LONGEST_WORD;
        if whole { text.to_owned() } else { GAP.to_owned() }
    }

    fn object(&self, fields: &Map<String, Value>, depth: usize) -> String {
        let is_none = |value: &Value| is_answer_of_none(fields, value, depth);
        let telling: Vec<(&String, &Value)> =
            fields.iter().filter(|(_, value)| !is_empty(value) && !self.is_given(value) || is_none(value)).collect();
        // What was spoken of comes first, and what can be told whole before what has parts of its own.
        let mut order: Vec<usize> = (0..telling.len()).collect();
        order.sort_by_key(|at| {
            let (_, value) = telling[*at];
            (!self.is_heard(value, depth) && !is_none(value), rank(value), *at)
        });
        let most = if depth == 0 { self.detail.outermost } else { self.detail.fields };
        let shown: HashSet<usize> = order.into_iter().take(most).collect();
        let mut parts: Vec<String> = Vec::new();
        for (at, (name, value)) in telling.iter().enumerate() {
            if shown.contains(&at) {
                parts.push(self.field(name, value, depth));
            }
        }
        if shown.len() < telling.len() {
            parts.push(GAP.to_owned());
        }
        fields_joined(&parts)
    }

    fn field(&self, name: &str, value: &Value, depth: usize) -> String {
        let told = self.told(value, depth + 1);
        match value {
            Value::Array(list) if list.is_empty() => format!("{name} []"),
            _ if told.contains('\n') => format!("{name}:\n{told}\n"),
            Value::Object(_) => format!("{name} ({told})"),
            _ => format!("{name} {told}"),
        }
    }

    fn list(&self, list: &[Value], depth: usize) -> String {
        let mut parts: Vec<String> =
            list.iter().take(self.detail.rows).map(|value| self.told(value, depth + 1)).collect();
        if parts.len() < list.len() {
            parts.push(format!("{GAP} ({} in all)", list.len()));
        }
        entries_joined(&parts)
    }

    /// Records as rows, their fields' names once.
    fn table(&self, rows: &[KeyedRow<'_>], depth: usize) -> String {
        let columns = self.columns(rows);
        let shown: Vec<&str> = columns.iter().copied().take(self.detail.fields).collect();
        let key = rows.first().and_then(|row| row.key).map(|_| "");
        let mut head: Vec<&str> = key.into_iter().chain(shown.iter().copied()).collect();
        if shown.len() < columns.len() {
            head.push(GAP);
        }
        let has = |row: &KeyedRow<'_>, name: &str| row.fields.get(name).is_some_and(|value| !is_empty(value));
        let is_of_few = |name: &&str| rows.iter().filter(|row| has(row, name)).count() * 2 <= rows.len();
        let few_have: HashSet<&str> = columns.iter().copied().skip(shown.len()).filter(is_of_few).collect();
        let mut lines: Vec<String> = self.same_in_all(rows).into_iter().collect();
        lines.push(head.join(COLUMN).trim_start().to_owned());
        for KeyedRow { key, fields } in rows.iter().take(self.detail.rows) {
            let cell = |name: &&str| fields.get(*name).map_or(String::new(), |value| self.cell(value, depth));
            let mut cells: Vec<String> = key.map(String::clone).into_iter().chain(shown.iter().map(cell)).collect();
            // What only some of them have would look like a value that is not there.
            let is_hidden = |(name, value): (&String, &Value)| !is_empty(value) && few_have.contains(&name.as_str());
            if fields.iter().any(is_hidden) {
                cells.push(GAP.to_owned());
            }
            lines.push(cells.join(COLUMN));
        }
        if rows.len() > self.detail.rows {
            lines.push(format!("{GAP} ({} in all)", rows.len()));
        }
        lines.join("\n")
    }

    /// What all records have alike, told once: it tells none from another, but of them all.
    fn same_in_all(&self, rows: &[KeyedRow<'_>]) -> Option<String> {
        let first = rows.first()?.fields;
        let is_same = |name: &str, value: &Value| rows.iter().all(|row| row.fields.get(name) == Some(value));
        let telling = |(name, value): &(&String, &Value)| {
            let tells = value.is_string() || value.is_number();
            tells && !is_empty(value) && !self.is_given(value) && rank(value) == 0 && is_same(name, value)
        };
        let all: Vec<(&String, &Value)> = first.iter().filter(telling).collect();
        let mut parts: Vec<String> = all
            .iter()
            .take(self.detail.fields.min(MOST_SAME))
            .map(|(name, value)| self.field(name, value, 1))
            .collect();
        if parts.len() < all.len() {
            parts.push(GAP.to_owned());
        }
        (!parts.is_empty()).then(|| format!("{SAME} {}", fields_joined(&parts)))
    }

    fn cell(&self, value: &Value, depth: usize) -> String {
        let less = ValueDetail { fields: self.detail.fields.min(4), ..self.detail };
        Outline { detail: less, ..*self }.told(value, depth + 1).replace('\n', "; ")
    }

    /// The fields in which the records differ: those that were spoken of first, then in their order, with short values before
    /// long ones. A field that is the same in all of them tells none from another.
    fn columns<'r>(&self, rows: &[KeyedRow<'r>]) -> Vec<&'r str> {
        let mut names: Vec<&str> = Vec::new();
        for row in rows.iter().take(COMPARED) {
            names
                .extend(row.fields.keys().map(String::as_str).filter(|name| !names.contains(name)).collect::<Vec<_>>());
        }
        let values =
            |name: &str| rows.iter().take(COMPARED).map(|row| (row.key, row.fields.get(name))).collect::<Vec<_>>();
        names.retain(|name| {
            let values = values(name);
            let is_key = values
                .iter()
                .all(|(key, value)| key.is_some_and(|key| value.and_then(Value::as_str) == Some(key.as_str())));
            let is_one = values.windows(2).all(|pair| pair[0].1 == pair[1].1);
            !is_key && !is_one && values.iter().any(|(_, value)| value.is_some_and(|value| !is_empty(value)))
        });
        let heard = |name: &str| {
            values(name).iter().filter(|(_, value)| value.is_some_and(|value| self.is_heard(value, DEEPEST))).count()
        };
        let worst = |name: &str| values(name).iter().filter_map(|(_, value)| value.map(rank)).max().unwrap_or_default();
        // What differs from nearly each record to the next tells more than what parts them in two.
        let parts_few = |name: &str| {
            let values = values(name);
            let different: HashSet<String> =
                values.iter().filter_map(|(_, value)| Some((*value)?.to_string())).collect();
            different.len() * 2 < values.len()
        };
        let mut ranked: Vec<(bool, u8, bool, usize, &str)> = names
            .iter()
            .enumerate()
            .map(|(at, name)| (heard(name) == 0, worst(name), parts_few(name), at, *name))
            .collect();
        ranked.sort_unstable();
        ranked.into_iter().map(|(.., name)| name).collect()
    }

    fn is_heard(&self, value: &Value, depth: usize) -> bool {
        match value {
            Value::String(text) => words(text).any(|word| (self.words.heard)(word)),
            Value::Number(number) => words(&number.to_string()).any(|word| (self.words.heard)(word)),
            Value::Array(list) if depth < DEEPEST => {
                list.iter().take(COMPARED).any(|value| self.is_heard(value, depth + 1))
            }
            Value::Object(fields) if depth < DEEPEST => {
                fields.values().take(COMPARED).any(|value| self.is_heard(value, depth + 1))
            }
            _ => false,
        }
    }

    fn is_given(&self, value: &Value) -> bool {
        value.as_str().is_some_and(|text| (self.words.given)(text))
    }
}

/// What tells much in little room comes first.
fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 4,
        Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => {
            if text.len() <= SHORT_VALUE {
                0
            } else {
                3
            }
        }
        Value::Array(list) => u8::from(list.len() < 2 || !list.iter().all(Value::is_object)),
        Value::Object(_) => 2,
    }
}

/// Records that are held by their keys: several objects with fields in common.
fn keyed_rows(fields: &Map<String, Value>) -> Option<Vec<KeyedRow<'_>>> {
    let rows: Vec<KeyedRow<'_>> = fields
        .iter()
        .map(|(key, value)| Some(KeyedRow { key: Some(key), fields: value.as_object()? }))
        .collect::<Option<_>>()?;
    let first = rows.first().filter(|_| rows.len() > 1)?.fields;
    let is_like = |row: &Map<String, Value>| {
        let common = row.keys().filter(|name| first.contains_key(*name)).count();
        common * 2 >= first.len().max(row.len())
    };
    rows.iter().all(|row| is_like(row.fields)).then_some(rows)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(value: &Value, room: usize) -> String {
        within(value, room, &ValueWords { heard: &|_| false, given: &|text| text == "W12" }).unwrap_or_default()
    }

    #[test]
    fn every_record_keeps_its_name_and_number_where_there_is_little_room() {
        let item = |name: &str, id: u64, price: f64| json!({"name": name, "product_id": id + 7, "item_id": id, "price": price, "options": {"colour": "blue", "size": "M"}});
        let order = json!({
            "order_id": "W12", "user_id": "mia_9", "status": "processed",
            "address": {"street": "12 Long Way", "city": "Ulm", "zip": "89073", "country": "DE"},
            "items": [item("Keyboard", 165, 108.2), item("Chair", 466, 419.0), item("Kettle", 720, 97.5)],
            "payment_history": [{"transaction_type": "payment", "amount": 624.7, "method": "gift_3"}],
        });
        for room in [320, 230, 140] {
            let told = told(&order, room);
            for shown in ["Keyboard", "Chair", "Kettle", "processed"] {
                assert!(told.contains(shown), "{room}: {shown}: {told}");
            }
            assert!(!told.contains("W12") && size(&told) <= room, "{room}: {told}");
        }
        assert!(told(&order, 320).contains("466"), "{}", told(&order, 320));
    }

    #[test]
    fn what_all_records_have_alike_is_told_once_and_what_few_have_is_marked() {
        let flight = |from: &str, number: &str, price: u64| json!({"origin": from, "flight": number, "date": "2024-05-20", "price": price});
        let flights = json!({"flights": [flight("MIA", "HAT232", 1505), flight("LAX", "HAT228", 1519)]});
        let shown = told(&flights, 200);
        assert!(shown.contains("each: date 2024-05-20\norigin | flight | price"), "{shown}");
        let property = |id: &str, kind: &str| json!({"id": id, "type": kind, kind: {"name": "phd", "colour": "pink"}});
        let properties =
            json!({"a": property("GvWY", "select"), "b": property("Kx1", "title"), "c": property("Zz2", "email")});
        let shown = told(&properties, 80);
        assert!(shown.lines().filter(|line| line.ends_with(GAP)).count() >= 3, "{shown}");
    }

    #[test]
    fn records_under_keys_are_rows_of_their_keys() {
        let variant = |id: &str, price: f64, there: bool| json!({"item_id": id, "options": {"material": "mesh", "color": "red"}, "available": there, "price": price});
        let product = json!({"name": "Chair", "variants": {
            "4274709903": variant("4274709903", 544.29, true), "1071497737": variant("1071497737", 483.95, false),
        }});
        let told = told(&product, 120);
        assert!(told.contains("4274709903 | ") && told.contains("544.29") && told.contains("1071497737 | "), "{told}");
        assert!(!told.contains("item_id") && !told.contains("mesh"), "{told}");
    }

    #[test]
    fn an_address_is_told_whole_or_not_at_all() {
        let url = "https://ta-01kg6rewgt97v5q2-5173.wo-jbx7g431f7jj8n3aa1553yvyz.w.modal.host";
        let preview = json!({"preview_url": url, "log": "It was built and started without a warning. ".repeat(9), "sandbox": "s1"});
        assert!(told(&preview, 200).contains(url), "{}", told(&preview, 200));
        let little = told(&preview, 90);
        assert!(!little.contains("https") || little.contains(url), "{little}");
    }

    #[test]
    fn what_is_left_out_is_marked() {
        let list: Vec<u32> = (100_000..100_500).collect();
        assert!(told(&json!(list), 200).ends_with("[…] (500 in all)"));
        let wide: Map<String, Value> = (0..50).map(|n| (format!("field_{n}"), json!(n))).collect();
        assert!(told(&Value::Object(wide), 120).ends_with(GAP));
        assert_eq!(told(&json!({"a": "x".repeat(4_000), "b": 1}), 3), "");
    }
}
