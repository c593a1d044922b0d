//! Words that a summary's items start with, written by one task and read back by the next.

/// Opens the line that stands for items left out.
pub const GAP: &str = "(… ";

/// Stands for a goal that the topic has said already.
pub const SAME: &str = "What the topic says.";

/// Opens the line that counts the calls that changed nothing.
pub const LOOKUPS: &str = "Read-only calls: ";

/// Label of an item in a section that is not its own; it names the item's kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    Decided,
    Obstacle,
    Rule,
    UnderWay,
    Question,
    Files,
    Mentioned,
}

impl Label {
    const ALL: [Label; 7] = [
        Label::Decided,
        Label::Obstacle,
        Label::Rule,
        Label::UnderWay,
        Label::Question,
        Label::Files,
        Label::Mentioned,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Label::Decided => "Decided: ",
            Label::Obstacle => "Obstacle: ",
            Label::Rule => "Rule: ",
            Label::UnderWay => "Under way: ",
            Label::Question => "Open question: ",
            Label::Files => "Files: ",
            Label::Mentioned => "Mentioned: ",
        }
    }

    /// The label of an item, and the item itself.
    pub fn read(item: &str) -> Option<(Label, &str)> {
        Label::ALL.iter().find_map(|label| Some((*label, item.strip_prefix(label.as_str())?)))
    }
}
