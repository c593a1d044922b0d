//! Words that a summary's items start with, written by one task and read back by the next.

/// Opens the line that stands for items left out.
pub const GAP: &str = "(… ";

/// Stands for a goal that the topic has said already.
pub const SAME: &str = "What the topic says.";

/// Label of an item in a section that is not its own; it names the item's kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    Decided,
    Obstacle,
    Rule,
    UnderWay,
    Question,
    Named,
}

impl Label {
    const ALL: [Label; 6] =
        [Label::Decided, Label::Obstacle, Label::Rule, Label::UnderWay, Label::Question, Label::Named];

    pub fn as_str(self) -> &'static str {
        match self {
            Label::Decided => "Decided: ",
            Label::Obstacle => "Obstacle: ",
            Label::Rule => "Rule: ",
            Label::UnderWay => "Under way: ",
            Label::Question => "Asked the user last: ",
            Label::Named => "Also named: ",
        }
    }

    /// The label of an item, and the item itself.
    pub fn read(item: &str) -> Option<(Label, &str)> {
        Label::ALL.iter().find_map(|label| Some((*label, item.strip_prefix(label.as_str())?)))
    }
}

/// Returns true for lines of earlier versions that say nothing any more: word lists, counts, and guesses at what comes next.
pub fn is_outdated(item: &str) -> bool {
    const OUTDATED: [&str; 8] = [
        "Open question: ",
        "Mentioned: ",
        "Files: ",
        "Read-only calls: ",
        "Not yet answered: ",
        "Do what the user asked last: ",
        "Get the user's answer: ",
        "Resolve: ",
    ];
    OUTDATED.iter().any(|opening| item.starts_with(opening)) || item.ends_with(": no result yet")
}
