//! The numbers of a record: `#47` is the 47th call of the path, `u12` the twelfth message of the user's own on it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where the reading of a history may begin the next time, and what comes before it in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordNumbers {
    pub depth: i64,
    pub messages: u32,
    pub users: u32,
    pub calls: u32,
}

/// One number as a record prints it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordNumber {
    Call(u32),
    User(u32),
}

impl RecordNumber {
    /// Reads `#47` or `u12`. `None`: it is neither.
    pub fn read(text: &str) -> Option<RecordNumber> {
        if let Some(digits) = text.strip_prefix('#') {
            return positive(digits).map(RecordNumber::Call);
        }
        text.strip_prefix('u').and_then(positive).map(RecordNumber::User)
    }

    /// As [`RecordNumber::read`], where `47` alone is a call's number too.
    pub fn read_bare(text: &str) -> Option<RecordNumber> {
        RecordNumber::read(text).or_else(|| positive(text).map(RecordNumber::Call))
    }

    /// What is said where it leads nowhere; `last` is the last number that there is of its kind.
    pub fn leads_nowhere(self, last: u32) -> String {
        let (things, none) = match self {
            RecordNumber::Call(_) => ("calls are", "calls"),
            RecordNumber::User(_) => ("the user's messages are", "messages of the user's own"),
        };
        match last {
            0 => format!("{self} not found: there are no {none} here"),
            _ => format!("{self} not found: {things} numbered 1 to {last} here"),
        }
    }
}

impl fmt::Display for RecordNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordNumber::Call(number) => write!(f, "#{number}"),
            RecordNumber::User(number) => write!(f, "u{number}"),
        }
    }
}

fn positive(digits: &str) -> Option<u32> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|number| is_number && *number > 0)
}

/// A number, and the depth of the entry that has it.
pub type NumberMark = (u32, i64);

/// Where some of the numbers before a compaction's cut stand, so that a look-up need not count from the first entry on: each
/// message of the user's own, and now and then a call. Of a very long history the older ones are thinned out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NumberMarks {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<NumberMark>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    users: Vec<NumberMark>,
}

impl NumberMarks {
    /// Calls between two marks.
    const CALLS: u32 = 64;
    /// Marks of each kind.
    const MOST: usize = 1_024;

    pub fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.users.is_empty()
    }

    /// Marks a message of the user's own. Numbers are noted in their order.
    pub fn note_user(&mut self, number: u32, depth: i64) {
        put(&mut self.users, (number, depth));
    }

    /// Marks the first call of an entry, where the last mark is far enough away.
    pub fn note_call(&mut self, number: u32, depth: i64) {
        if self.calls.last().is_none_or(|(last, _)| number.saturating_sub(*last) >= NumberMarks::CALLS) {
            put(&mut self.calls, (number, depth));
        }
    }

    /// Takes over what an earlier compaction marked at these depths, which were not read again.
    pub fn fill(&mut self, earlier: &NumberMarks, depths: std::ops::Range<i64>) {
        let within = |marks: &[NumberMark]| -> Vec<NumberMark> {
            marks.iter().filter(|(_, depth)| depths.contains(depth)).copied().collect()
        };
        within(&earlier.users).into_iter().for_each(|mark| put(&mut self.users, mark));
        within(&earlier.calls).into_iter().for_each(|mark| put(&mut self.calls, mark));
    }

    /// Marks where a reading begins whose numbers are known: the next call is the first behind it.
    pub fn begin(&mut self, known: RecordNumbers) {
        if self.calls.last().is_none_or(|(last, _)| *last <= known.calls) {
            put(&mut self.calls, (known.calls.saturating_add(1), known.depth));
        }
    }

    /// The last mark of a call at or before this number: where the counting begins.
    pub fn call(&self, number: u32) -> Option<NumberMark> {
        at_or_before(&self.calls, number)
    }

    /// The last mark of a message of the user's own at or before this number.
    pub fn user(&self, number: u32) -> Option<NumberMark> {
        at_or_before(&self.users, number)
    }
}

fn put(marks: &mut Vec<NumberMark>, mark: NumberMark) {
    marks.push(mark);
    if marks.len() > NumberMarks::MOST {
        let mut at = 0;
        marks.retain(|_| {
            at += 1;
            at > NumberMarks::MOST / 2 || at % 2 == 1
        });
    }
}

fn at_or_before(marks: &[NumberMark], number: u32) -> Option<NumberMark> {
    let next = marks.partition_point(|(marked, _)| *marked <= number);
    next.checked_sub(1).and_then(|last| marks.get(last)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_records_print_them() {
        let read = |text: &str| RecordNumber::read(text).map(|number| number.to_string());
        for text in ["#47", "u12", "#1", "u4294967295"] {
            assert_eq!(read(text).as_deref(), Some(text));
        }
        for text in
            ["47", "#", "u", "#0", "u0", "#-1", "#+1", "u 1", " #1", "#1 ", "U1", "#4294967296", "u12a", "call_1"]
        {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(RecordNumber::read_bare("47"), Some(RecordNumber::Call(47)));
        assert_eq!(RecordNumber::read_bare("+47"), None);
    }

    #[test]
    fn what_leads_nowhere_says_what_there_is() {
        assert_eq!(RecordNumber::Call(64).leads_nowhere(63), "#64 not found: calls are numbered 1 to 63 here");
        assert_eq!(
            RecordNumber::User(2).leads_nowhere(1),
            "u2 not found: the user's messages are numbered 1 to 1 here"
        );
        assert_eq!(
            RecordNumber::User(1).leads_nowhere(0),
            "u1 not found: there are no messages of the user's own here"
        );
    }

    #[test]
    fn marks_are_few_and_the_newest_are_exact() {
        let mut marks = NumberMarks::default();
        for number in 1..=200_000 {
            marks.note_user(number, i64::from(number) * 3);
            marks.note_call(number, i64::from(number) * 3 + 1);
        }
        assert!(marks.users.len() <= NumberMarks::MOST && marks.calls.len() <= NumberMarks::MOST);
        assert_eq!(marks.user(200_000), Some((200_000, 600_000)));
        assert_eq!(marks.user(199_700), Some((199_700, 599_100)), "the newest stand each for itself");
        for number in [1, 63, 64, 65, 1_000, 70_001, 199_999] {
            for (found, shift) in [(marks.user(number), 0), (marks.call(number), 1)] {
                let (marked, depth) = found.unwrap();
                assert!(marked <= number && depth == i64::from(marked) * 3 + shift, "{number}: {found:?}");
            }
        }
        assert_eq!(marks.user(0), None);
    }

    #[test]
    fn what_is_not_read_again_keeps_its_marks() {
        let mut earlier = NumberMarks::default();
        (1..=300).for_each(|number| earlier.note_user(number, i64::from(number)));
        (1..=300).for_each(|number| earlier.note_call(number, i64::from(number)));
        let mut marks = NumberMarks::default();
        (1..=10).for_each(|number| marks.note_user(number, i64::from(number)));
        marks.note_call(1, 1);
        marks.fill(&earlier, 11..201);
        marks.begin(RecordNumbers { depth: 201, messages: 201, users: 200, calls: 200 });
        (201..=300).for_each(|number| marks.note_user(number, i64::from(number)));
        assert!((1..=300).all(|number| marks.user(number) == Some((number, i64::from(number)))));
        assert_eq!(marks.call(150), Some((129, 129)));
        assert_eq!(marks.call(210), Some((201, 201)));
    }
}
