//! The text of a stored item, whatever its format: the strings that somebody said, in order, a line each.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::model::entry_type::EntryType;
use crate::model::json::mend_surrogates;

/// A string of this many bytes that could be base64 is taken for that.
const BASE64_BYTES: usize = 512;
const BASE64_LINE: usize = 60;

/// The key under which serde_json may hand on a number, to keep its digits.
const NUMBER: &str = "$serde_json::private::Number";

/// Returns the text that a search looks at. Not in it: the words of the format itself, signatures and encrypted parts,
/// media. Of a compaction: the summary as the model is shown it. Text that is not JSON is its own text.
pub fn text_of(kind: EntryType, item: &str) -> String {
    let item = mend_surrogates(item);
    let mut text = String::with_capacity(item.len());
    if kind == EntryType::Compaction {
        let summary = serde_json::from_str::<Summary>(&item).ok().and_then(|found| found.summary);
        return summary.unwrap_or_default();
    }
    if walk(&item, &mut text, ValuePlace::Message).is_err() {
        return item.into_owned();
    }
    text
}

#[derive(Deserialize)]
struct Summary {
    summary: Option<String>,
}

/// Where in an item a value stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValuePlace {
    /// Where keys are the format's own.
    Message,
    /// Of a key that holds a word of the format: a string here is none of the text.
    Word,
    /// The arguments of a call: a string here may be JSON.
    Arguments,
    /// Inside them: keys are the tool's.
    Inside,
}

impl ValuePlace {
    fn under(self, key: &str) -> ValuePlace {
        if self != ValuePlace::Message && self != ValuePlace::Word {
            return ValuePlace::Inside;
        }
        match key {
            "type" | "role" | "signature" | "thinkingSignature" | "thoughtSignature" | "textSignature" | "parentId"
            | "encrypted_content" | "media_type" | "mimeType" | "stop_reason" | "stopReason" | "finish_reason"
            | "timestamp" | "usage" | "cache_control" => ValuePlace::Word,
            "arguments" | "input" => ValuePlace::Arguments,
            _ => ValuePlace::Message,
        }
    }
}

fn walk(json: &str, text: &mut String, place: ValuePlace) -> serde_json::Result<()> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    Walk { text, place }.deserialize(&mut deserializer)?;
    deserializer.end()
}

struct Walk<'t> {
    text: &'t mut String,
    place: ValuePlace,
}

impl Walk<'_> {
    fn take(&mut self, said: &str) {
        if self.place == ValuePlace::Word || is_base64(said) {
            return;
        }
        if self.place == ValuePlace::Arguments && said.starts_with(['{', '[']) {
            let before = self.text.len();
            if walk(said, self.text, ValuePlace::Inside).is_ok() {
                return;
            }
            self.text.truncate(before);
        }
        self.text.push_str(said);
        self.text.push('\n');
    }
}

impl Walk<'_> {
    /// Numbers are text only where a tool was given them.
    fn take_number<E>(&mut self, number: impl fmt::Display) -> Result<(), E> {
        if matches!(self.place, ValuePlace::Inside | ValuePlace::Arguments) {
            self.take(&number.to_string());
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_str<E: Error>(mut self, said: &str) -> Result<(), E> {
        self.take(said);
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(mut self, number: u64) -> Result<(), E> {
        self.take_number(number)
    }

    fn visit_i64<E: Error>(mut self, number: i64) -> Result<(), E> {
        self.take_number(number)
    }

    fn visit_f64<E: Error>(mut self, number: f64) -> Result<(), E> {
        self.take_number(number)
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Walk { text: self.text, place: self.place })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(place) = fields.next_key_seed(Key(self.place))? {
            match place {
                ValuePlace::Word => fields.next_value::<IgnoredAny>().map(|_| ())?,
                place => fields.next_value_seed(Walk { text: self.text, place })?,
            }
        }
        Ok(())
    }
}

/// A key, as the place of what stands under it.
struct Key(ValuePlace);

impl<'de> DeserializeSeed<'de> for Key {
    type Value = ValuePlace;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<ValuePlace, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key {
    type Value = ValuePlace;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<ValuePlace, E> {
        Ok(match (key, self.0) {
            (NUMBER, ValuePlace::Inside | ValuePlace::Arguments) => ValuePlace::Inside,
            (NUMBER, _) => ValuePlace::Word,
            _ => self.0.under(key),
        })
    }
}

/// Long, and of that alphabet in one piece or in lines of the usual length; also behind the head of a data URL.
fn is_base64(said: &str) -> bool {
    if said.len() < BASE64_BYTES {
        return false;
    }
    let data = said.strip_prefix("data:").and_then(|url| url.split_once(";base64,")).map_or(said, |(_, data)| data);
    let encoded = |line: &str| line.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=-_".contains(&byte));
    let mut lines = data.lines().rev();
    let last = lines.next().unwrap_or_default();
    encoded(last) && lines.all(|line| line.len() >= BASE64_LINE && encoded(line))
}
