//! Pieces that several pages have.

use maud::{Markup, html};
use strum::VariantArray;

use super::format::{count, percent, short};
use super::viewer::Viewer;

/// A state or status in a word and a sign, not by colour alone.
pub fn badge(word: &str) -> Markup {
    let (sign, kind) = match word {
        "green" | "succeeded" | "delivered" | "enabled" | "active" => ("●", "good"),
        "yellow" | "queued" | "pending" | "skipped" | "rotated" => ("◐", "fair"),
        "red" | "failed" | "dead" => ("▲", "bad"),
        "running" => ("▸", "busy"),
        _ => ("○", "calm"),
    };
    html! { span class={ "badge " (kind) } { span.sign aria-hidden="true" { (sign) } " " (word) } }
}

/// How full a window is; `word` is its state.
pub fn fill_bar(tokens: i64, window: i64, word: &str) -> Markup {
    let share = if window > 0 { tokens as f64 / window as f64 } else { 0.0 };
    let told = format!("{} of {} tokens, {}", count(tokens), count(window), percent(share));
    html! {
        span.fill title=(told) {
            meter class=(word) min="0" max="1" value=(format!("{:.4}", share.clamp(0.0, 1.0))) aria-label=(told) {}
            " " span.nowrap { (short(tokens)) " / " (short(window)) }
        }
    }
}

/// A form that changes something: `fields` are its inputs and its button. Every such form is made by this, which gives it
/// the token that the gate asks for, and leaves it out where the viewer's key does not let it be sent.
pub fn post(viewer: &Viewer, action: &str, fields: Markup) -> Markup {
    html! {
        @if viewer.may_send(action) {
            form method="post" action=(action) {
                input type="hidden" name="csrf" value=(viewer.form_token);
                (fields)
            }
        }
    }
}

/// A form of one button.
pub fn button(viewer: &Viewer, action: &str, label: &str) -> Markup {
    post(viewer, action, html! { button type="submit" { (label) } })
}

/// A button that asks first, without a script: it has to be unfolded.
pub fn careful_button(viewer: &Viewer, action: &str, label: &str, warning: &str) -> Markup {
    html! {
        @if viewer.may_send(action) {
            details.careful {
                summary { (label) "…" }
                p { (warning) }
                (post(viewer, action, html! { button.bad type="submit" { (label) } }))
            }
        }
    }
}

/// A figure with its name, and what is to be said of it; in `dl.figures`.
pub fn figure(label: Markup, value: Markup, note: Option<Markup>) -> Markup {
    html! {
        div.figure {
            dt { (label) }
            dd { (value) }
            @if let Some(note) = note { dd.note { (note) } }
        }
    }
}

/// Links to a page by hours; `chosen` is the one that is shown.
pub fn period_links(path: &str, chosen: i64, periods: &[(i64, &str)]) -> Markup {
    html! {
        nav.segments aria-label="Period" {
            @for (hours, label) in periods {
                a href={ (path) "?hours=" (hours) } aria-current=[(*hours == chosen).then_some("true")] { (label) }
            }
        }
    }
}

/// Choices of a filter: the words of an enum, and none.
pub fn choice<T: VariantArray + Copy + PartialEq + Into<&'static str>>(
    name: &str,
    label: &str,
    chosen: Option<T>,
) -> Markup {
    let words: Vec<&str> = T::VARIANTS.iter().map(|word| (*word).into()).collect();
    words_choice(name, label, &words, chosen.map(Into::into))
}

/// The same of texts.
pub fn words_choice(name: &str, label: &str, words: &[&str], chosen: Option<&str>) -> Markup {
    html! {
        label { (label) " "
            select name=(name) {
                option value="" { "any" }
                @for word in words {
                    option value=(word) selected[chosen == Some(*word)] { (word) }
                }
            }
        }
    }
}

/// Where the next page of a list is; `path` with the parameters that stay.
pub fn pager(path: &str, params: &[(&str, &str)], after: Option<&str>, next: Option<&str>) -> Markup {
    html! {
        @if after.is_some() || next.is_some() {
            nav.pager aria-label="Pages" {
                @if after.is_some() { a href=(address(path, params)) { "« Newest" } }
                @if let Some(next) = next {
                    @let with: Vec<_> = params.iter().copied().chain([("after", next)]).collect();
                    a rel="next" href=(address(path, &with)) { "Older »" }
                }
            }
        }
    }
}

/// A path with parameters; empty ones are left out.
pub fn address(path: &str, params: &[(&str, &str)]) -> String {
    let given = params.iter().filter(|(_, value)| !value.is_empty());
    let query: String = form_urlencoded::Serializer::new(String::new()).extend_pairs(given).finish();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_hold_any_text() {
        assert_eq!(address("/ui/sessions", &[("q", ""), ("state", "")]), "/ui/sessions");
        assert_eq!(address("/ui/sessions", &[("q", "a&b =\"<")]), "/ui/sessions?q=a%26b+%3D%22%3C");
    }

    #[test]
    fn a_window_of_nothing_is_not_full() {
        assert!(fill_bar(5, 0, "green").into_string().contains("value=\"0.0000\""));
        assert!(fill_bar(500, 100, "red").into_string().contains("value=\"1.0000\""));
    }
}
