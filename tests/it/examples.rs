//! The examples are short: each is a whole agent in under 60 lines, a few of which are contextd's.

use std::path::Path;

const MOST: usize = 59;
/// Every adapter has its example.
const ADAPTERS: [(&str, &[&str]); 2] = [
    (
        "python",
        &[
            "with_claude_agent_sdk.py",
            "with_google_adk.py",
            "with_inspect_ai.py",
            "with_langchain.py",
            "with_openai_agents.py",
            "with_openhands.py",
            "with_pydantic_ai.py",
        ],
    ),
    ("typescript", &["ai-sdk.ts", "mastra.ts", "openai-agents.ts", "pi.ts"]),
];

/// Lines in all, lines of code, and those of them that name contextd.
fn counted(text: &str) -> (usize, usize, usize) {
    let is_code = |line: &&str| !["", "//", "#", "/*", "*", "\"\"\""].iter().any(|comment| opens(line, comment));
    let code: Vec<&str> = text.lines().map(str::trim).filter(is_code).collect();
    let ours = code.iter().filter(|line| line.to_ascii_lowercase().contains("contextd")).count();
    (text.lines().count(), code.len(), ours)
}

fn opens(line: &str, comment: &str) -> bool {
    if comment.is_empty() { line.is_empty() } else { line.starts_with(comment) }
}

#[test]
fn each_example_is_under_sixty_lines() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    println!("{:<40} lines  of code  that name contextd", "");
    for (language, names) in ADAPTERS {
        for name in names {
            let text = std::fs::read_to_string(examples.join(language).join(name)).unwrap();
            let (lines, code, ours) = counted(&text);
            println!("{:<40} {lines:>5}  {code:>7}  {ours:>18}", format!("{language}/{name}"));
            assert!(lines <= MOST, "{name} has {lines} lines");
            assert!(ours > 0 && ours < code, "{name} names contextd in {ours} of {code} lines");
        }
    }
}
