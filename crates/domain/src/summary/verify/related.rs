//! Answers that tell of something else, or of nothing.

use super::answer::Found;
use super::reason::RejectReason;
use super::share::Share;

/// Below so many words a span has too little to be told.
const LEAST_SPAN: usize = 50;
/// Below so many words that tell something, only the lack of all of them counts.
const FEW: u32 = 3;
const SOME: u32 = 6;
const ENOUGH: u32 = 12;
/// Share of an answer's words that must stand in the span.
const LEAST_CONTENT: f64 = 0.20;
/// Share of an answer's names that must stand in the span: of few, and of many.
const LEAST_OF_FEW_NAMES: f64 = 0.40;
const LEAST_NAMES: f64 = 0.50;
const MANY_NAMES: u32 = 5;
/// A share of names above this makes up for words: the summary is in another language.
const CLEAR_NAMES: f64 = 0.70;
/// Names of a span that a summary could have kept. The shares that are wanted where it keeps none of them.
const ENOUGH_KEPT: u32 = 8;
const LEAST_CONTENT_WITHOUT_NAMES: f64 = 0.80;
const LEAST_CONTENT_IF_NONE_KEPT: f64 = 0.45;
const LEAST_NAMES_IF_NONE_KEPT: f64 = 0.65;
/// Words of the user's that a summary could have taken up.
const ENOUGH_SAID: usize = 8;

/// Judges an answer by the words and names that stand in its span. `kept`: how many of the span's weighty identifiers
/// the answer has.
pub(super) fn check(found: &Found, kept: Share) -> Result<(), RejectReason> {
    if found.span_words < LEAST_SPAN {
        return Ok(());
    }
    let keeps_none = kept.found == 0 && kept.total >= ENOUGH_KEPT;
    if is_foreign(found, keeps_none) {
        let total = found.content.total + found.names.total;
        return Err(RejectReason::Unrelated { found: found.content.found + found.names.found, total });
    }
    let takes_up_nothing = found.said == 0 && found.said_words >= ENOUGH_SAID && found.names.found == 0;
    if keeps_none && takes_up_nothing { Err(RejectReason::TellsNothing) } else { Ok(()) }
}

fn is_foreign(found: &Found, keeps_none: bool) -> bool {
    let Found { content, names, .. } = found;
    let shares = |share: Share, least: f64| share.ratio() >= least;
    let none = content.total >= FEW && content.found == 0 && names.found == 0;
    let by_names = names.total >= FEW && !shares(*names, LEAST_OF_FEW_NAMES)
        || names.total >= MANY_NAMES && !shares(*names, LEAST_NAMES)
        || names.total >= FEW && keeps_none && !shares(*names, LEAST_NAMES_IF_NONE_KEPT);
    let is_named = names.total >= FEW && shares(*names, CLEAR_NAMES);
    let by_words = content.total >= ENOUGH && !shares(*content, LEAST_CONTENT)
        || content.total >= SOME && keeps_none && !shares(*content, LEAST_CONTENT_IF_NONE_KEPT);
    let by_both = keeps_none && names.total > 0 && names.found == 0 && !shares(*content, LEAST_CONTENT_WITHOUT_NAMES);
    none || by_names || by_both || by_words && !is_named
}
