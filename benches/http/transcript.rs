//! Items to append: chat messages of about 1 KB with text that differs from one to the next.

const ITEM_BYTES: usize = 1024;
const WORDS: [&str; 16] = [
    "the",
    "request",
    "fails",
    "when",
    "config.toml",
    "holds",
    "two",
    "sections",
    "named",
    "alike;",
    "fn parse()",
    "returns",
    "early,",
    "and",
    "line 217",
    "panics",
];

/// The `n`th item: user and assistant take turns.
pub fn item(n: u64) -> String {
    let role = if n % 2 == 0 { "user" } else { "assistant" };
    let mut item = format!(r#"{{"role":"{role}","content":"Step {n}:"#);
    let mut state = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    while item.len() < ITEM_BYTES - 16 {
        // A xorshift generator: cheap, and the same text in every run.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        item.push(' ');
        item.push_str(WORDS[(state >> 60) as usize]);
    }
    item.push_str(&" ".repeat((ITEM_BYTES - 2).saturating_sub(item.len())));
    item.push_str(r#""}"#);
    item
}

/// The body of an append of items `from` up to `to`.
pub fn body(from: u64, to: u64) -> String {
    let items: Vec<String> = (from..to).map(item).collect();
    format!(r#"{{"format":"openai_chat","items":[{}]}}"#, items.join(","))
}
