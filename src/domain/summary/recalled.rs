//! Results that were fetched again after they had left the context: the next summaries show how each begins.

use serde::{Deserialize, Serialize};

use super::ledger;
use super::text::{clip, one_line, quarters, within};
use crate::domain::model::message::ToolCall;

const HEADING: &str = "## Results asked for again";
const CALL_CHARS: usize = 120;
/// The most that is kept of a result, in characters.
const EXCERPT_CHARS: usize = 1_200;
/// Less of a result says nothing.
const LEAST_CHARS: usize = 160;

/// A call and the beginning of its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecalledResult {
    pub tool_call_id: String,
    /// The call in a few words.
    pub call: String,
    pub excerpt: String,
}

impl RecalledResult {
    pub fn of(call: &ToolCall, result: &str) -> RecalledResult {
        let told = within(result.trim(), 4 * EXCERPT_CHARS);
        let lines: Vec<&str> = told.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()).collect();
        let excerpt = clip(&lines.join("\n"), EXCERPT_CHARS);
        let is_cut = told.len() < result.trim().len() && !excerpt.ends_with('…');
        RecalledResult {
            tool_call_id: call.id.clone(),
            call: clip(&one_line(&ledger::described(call, CALL_CHARS)), CALL_CHARS),
            excerpt: if is_cut { format!("{excerpt}…") } else { excerpt },
        }
    }

    /// The call and its result, shortened to this room in quarter tokens. `None`: there is none for it.
    fn within(&self, room: usize) -> Option<String> {
        let call = format!("- {} (call {}):\n  ", self.call, self.tool_call_id);
        let room = room.checked_sub(quarters(&call) + self.excerpt.matches('\n').count() * 2)?;
        let cut = within(&self.excerpt, room);
        let excerpt =
            if cut.len() == self.excerpt.len() { cut.to_owned() } else { clip(cut, cut.chars().count().max(1) - 1) };
        let is_enough = excerpt.len() == self.excerpt.len() || excerpt.chars().count() >= LEAST_CHARS;
        is_enough.then(|| call + &excerpt.replace('\n', "\n  "))
    }
}

/// The results that have room in `max_tokens` (four characters each), the first before the others, and the tokens that they
/// take. What the text shows already is left out. `None`: nothing fits.
pub fn block(results: &[RecalledResult], text: &str, max_tokens: u32) -> Option<(String, u32)> {
    let mut block = HEADING.to_owned();
    let most = max_tokens as usize * 4;
    for one in results.iter().filter(|one| !text.contains(&one.excerpt)) {
        if let Some(lines) = most.checked_sub(quarters(&block) + 1).and_then(|room| one.within(room)) {
            block = format!("{block}\n{lines}");
        }
    }
    let taken = u32::try_from(quarters(&block).div_ceil(4)).unwrap_or(u32::MAX);
    (block.len() > HEADING.len()).then_some((block, taken))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::summary::testing::call;

    fn recalled(id: &str, result: &str) -> RecalledResult {
        let message = call(id, "bash", json!({"command": "cargo tree"}));
        RecalledResult::of(message.tool_calls().next().expect("a call"), result)
    }

    #[test]
    fn results_are_shown_as_far_as_there_is_room() {
        let results =
            [recalled("c1", "serde 1.0\n\n  serde_derive 1.0  \n"), recalled("c2", &"a long line\n".repeat(400))];
        let first = "## Results asked for again\n- bash: cargo tree (call c1):\n  serde 1.0\n    serde_derive 1.0";
        assert_eq!(block(&results, "", 40).map(|(block, _)| block).as_deref(), Some(first));
        let (both, taken) = block(&results, "", 1_000).expect("both");
        assert!(
            both.starts_with(first) && both.ends_with('…') && both.len() < 1_600 && (300..420).contains(&taken),
            "{both}"
        );
        let (cut, taken) = block(&results[1..], "", 120).expect("a part");
        assert!(cut.ends_with('…') && (70..=120).contains(&taken), "{taken}: {cut}");
        assert_eq!(block(&results[..1], "serde 1.0\n  serde_derive 1.0", 1_000), None);
        assert_eq!(block(&results, "", 5), None);
    }
}
