//! The table of a language's patterns.

/// How a language tells rules. Patterns see lower case, no accents, `'` for every apostrophe and `$` for every currency.
pub struct RuleTable {
    /// What may stand before an order and says nothing: taken off the front as often as it stands there.
    pub fillers: &'static str,
    /// Turns of phrase that have a rule's words and are none: cut out. May not be empty.
    pub idle: &'static [&'static str],
    /// Any of these makes a rule. `@` stands for a place where an order may begin.
    pub rules: &'static [&'static str],
    /// As `@`, spelled out.
    pub order: &'static str,
    /// Words that change nothing wherever they stand, swearing above all: taken out.
    pub noise: &'static str,
    /// A rule that is asked for: all other questions are none.
    pub polite: &'static str,
    /// Frequent words that tell the language.
    pub words: &'static [&'static str],
}
