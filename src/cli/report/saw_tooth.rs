//! The saw-tooth: how full the window was, turn by turn, as SVG.

use maud::{Markup, html};
use serde_json::Value;

use crate::cli::fields::Fields;
use crate::cli::figures::{count, short, time};
use crate::cli::text::visible;

/// The parts of a context, from the bottom up.
pub const PARTS: [(&str, &str); 6] = [
    ("unposted", "not posted"),
    ("system", "system prompt"),
    ("tools", "tool definitions"),
    ("summary", "summary"),
    ("messages", "messages"),
    ("tool_results", "tool results"),
];
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 34.0;
/// The twin line leaves the picture above so many windows: the saw-tooth must stay to be seen.
const TWIN_WINDOWS: f64 = 2.5;
const MOST_MARKS: usize = 300;
/// More compactions than that have no line through the picture: they would hide it.
const MOST_LINES: usize = 30;

/// Where things stand in the picture.
struct Scale {
    points: usize,
    top: f64,
}

impl Scale {
    fn x(&self, at: usize) -> f64 {
        let share = if self.points < 2 { 0.0 } else { at as f64 / (self.points - 1) as f64 };
        LEFT + share * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, tokens: f64) -> f64 {
        let share = (tokens / self.top).clamp(0.0, 1.0);
        HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
    }
}

/// Sizes at which lines are drawn.
pub struct Limits {
    pub usable: f64,
    pub red: f64,
    pub yellow: f64,
}

impl Limits {
    /// Of a session as the API has it.
    pub fn of(session: &Value) -> Limits {
        let of = |name: &str| session.figure(&format!("/snapshot/{name}")).unwrap_or_default();
        let usable = (of("window") - of("reserve_tokens")).max(1.0);
        let share = |name: &str| session.figure(&format!("/settings/{name}"));
        Limits {
            usable,
            red: usable * share("red_at").unwrap_or(1.0),
            yellow: usable * share("yellow_at").unwrap_or(1.0),
        }
    }
}

/// The picture of a timeline.
pub fn saw_tooth(timeline: &Value, limits: &Limits) -> Markup {
    let points = timeline.list("/points");
    let window = timeline.figure("/window").unwrap_or_default().max(1.0);
    let highest = |name: &str| points.iter().filter_map(|point| point.figure(name)).fold(0.0, f64::max);
    let top = window.max(highest("/tokens")).max(highest("/without_contextd").min(window * TWIN_WINDOWS)) * 1.04;
    let scale = Scale { points: points.len(), top };
    let last = points.len().saturating_sub(1);
    let label = format!(
        "Tokens in the context at {} points in time; without contextd {} at the end",
        points.len(),
        count(points.last().map_or(0, |point| point.number("/without_contextd")))
    );
    html! {
        svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(label) {
            @for tick in ticks(top) {
                line class="grid" x1=(LEFT) x2=(WIDTH - RIGHT) y1=(place(scale.y(tick))) y2=(place(scale.y(tick))) {}
                text x=(LEFT - 8.0) y=(place(scale.y(tick) + 4.0)) text-anchor="end" { (short(tick as u64)) }
            }
            (areas(points, &scale))
            (level("yellow-from", "yellow", limits.yellow, &scale))
            (level("red-from", "red", limits.red, &scale))
            (level("limit", "window", window, &scale))
            polyline class="twin" points=(line(points, &scale)) { title { "without contextd" } }
            (marks(timeline, points, &scale))
            text x=(LEFT) y=(HEIGHT - 8.0) { (points.first().map_or_else(String::new, |point| time(point.word("/at")))) }
            text x=(place(scale.x(last).max(WIDTH - RIGHT))) y=(HEIGHT - 8.0) text-anchor="end" {
                (points.last().map_or_else(String::new, |point| time(point.word("/at"))))
            }
        }
    }
}

/// What the colours and lines mean.
pub fn legend() -> Markup {
    let sample = |inside: Markup| html! { svg viewBox="0 0 22 12" aria-hidden="true" { (inside) } };
    let stroke = |class: &str| html! { line class=(class) x1="0" x2="22" y1="6" y2="6" {} };
    html! {
        ul class="legend" {
            @for (class, name) in PARTS {
                li { (sample(html! { rect class=(class) width="22" height="12" rx="2" {} })) (name) }
            }
            li { (sample(stroke("limit"))) "window" }
            li { (sample(stroke("red-from"))) "red from here" }
            li { (sample(stroke("yellow-from"))) "yellow from here" }
            li { (sample(stroke("twin"))) "without contextd, as far as it fits" }
            li { (sample(html! { path class="mark" d="M6 1h10l-5 9z" {} })) "compaction" }
            li { (sample(html! { path class="failed" d="M6 1h10l-5 9z" {} })) "failed compaction" }
            li { (sample(html! { path class="chapter" d="M11 1l5 5-5 5-5-5z" {} })) "chapter" }
            li { (sample(html! { path class="branch" d="M11 1l5 5-5 5-5-5z" {} })) "branch" }
        }
    }
}

fn areas(points: &[Value], scale: &Scale) -> Markup {
    let mut below = vec![0.0; points.len()];
    let mut areas = Vec::new();
    for (class, name) in PARTS {
        let sizes = points.iter().map(|point| point.figure(&format!("/breakdown/{class}")).unwrap_or_default());
        let above: Vec<f64> = below.iter().zip(sizes).map(|(below, size)| below + size.max(0.0)).collect();
        let corner = |(at, tokens): (usize, &f64)| pair(scale.x(at), scale.y(*tokens));
        let there: Vec<String> = above.iter().enumerate().map(corner).collect();
        let back: Vec<String> = below.iter().enumerate().rev().map(corner).collect();
        areas.push((class, name, [there, back].concat().join(" ")));
        below = above;
    }
    html! {
        @for (class, name, outline) in areas {
            polygon class=(format!("area {class}")) points=(outline) { title { (name) } }
        }
    }
}

fn line(points: &[Value], scale: &Scale) -> String {
    let corner = |(at, point): (usize, &Value)| {
        pair(scale.x(at), scale.y(point.figure("/without_contextd").unwrap_or_default()))
    };
    points.iter().enumerate().map(corner).collect::<Vec<_>>().join(" ")
}

fn level(class: &str, name: &str, tokens: f64, scale: &Scale) -> Markup {
    let y = place(scale.y(tokens));
    html! {
        line class=(class) x1=(LEFT) x2=(WIDTH - RIGHT) y1=(y) y2=(y) { title { (name) ": " (count(tokens as u64)) " tokens" } }
    }
}

/// What happened, at the point where it stands; what was skipped changed nothing.
fn marks(timeline: &Value, points: &[Value], scale: &Scale) -> Markup {
    let events = timeline.list("/events").iter().filter(|event| event.word("/status") != "skipped");
    let events: Vec<&Value> = events.collect();
    let newest = events.len().saturating_sub(MOST_MARKS);
    let compactions = events.iter().filter(|event| event.word("/status") == "succeeded").count();
    html! {
        @for event in &events[newest..] {
            @let x = scale.x(whereabouts(event, points));
            @match (event.word("/kind"), event.word("/status")) {
                ("compaction" | "overflow", "succeeded") => {
                    @if compactions <= MOST_LINES { line class="cut" x1=(place(x)) x2=(place(x)) y1=(TOP) y2=(HEIGHT - BOTTOM) {} }
                    path class="mark" d=(format!("M{} {}h8l-4 7z", place(x - 4.0), TOP - 6.0)) { title { (told(event)) } }
                }
                ("compaction" | "overflow", "failed" | "cancelled") => {
                    path class="failed" d=(format!("M{} {}h8l-4 7z", place(x - 4.0), TOP - 6.0)) { title { (told(event)) } }
                }
                (kind @ ("chapter" | "branch"), _) => {
                    path class=(kind) d=(format!("M{} {}l5 5-5 5-5-5z", place(x), HEIGHT - BOTTOM - 5.0)) { title { (told(event)) } }
                }
                _ => {}
            }
        }
    }
}

/// The point of an event's entry, else the last one before it.
fn whereabouts(event: &Value, points: &[Value]) -> usize {
    let entry = event.word("/entry_id");
    let own = points.iter().position(|point| !entry.is_empty() && point.word("/entry_id") == entry);
    own.unwrap_or_else(|| points.partition_point(|point| point.word("/at") <= event.word("/at")).saturating_sub(1))
}

fn told(event: &Value) -> String {
    let words = ["/trigger", "/kind", "/status"].map(|at| event.word(at));
    let what = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let sizes = match (event.figure("/tokens_before"), event.figure("/tokens_after")) {
        (Some(_), Some(_)) => {
            format!(": {} to {} tokens", count(event.number("/tokens_before")), count(event.number("/tokens_after")))
        }
        _ => String::new(),
    };
    visible(&format!("{what}{sizes}, {}", time(event.word("/at"))))
}

/// At most seven round figures up to `top`.
fn ticks(top: f64) -> Vec<f64> {
    let rough = (top / 6.0).max(1.0);
    let unit = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * unit).into_iter().find(|step| *step >= rough);
    let step = step.unwrap_or(rough);
    (0..=7).map(|n| f64::from(n) * step).filter(|tick| *tick <= top).collect()
}

fn pair(x: f64, y: f64) -> String {
    format!("{},{}", place(x), place(y))
}

fn place(figure: f64) -> String {
    format!("{figure:.1}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ticks_are_few_and_round() {
        assert_eq!(ticks(40_000.0), [0.0, 10_000.0, 20_000.0, 30_000.0, 40_000.0]);
        for top in [0.0, 1.0, 37.0, 208_000.0, 1e9] {
            assert!((1..=8).contains(&ticks(top).len()), "{top}");
        }
    }

    #[test]
    fn nothing_and_one_point_are_drawn_too() {
        let limits =
            Limits::of(&json!({"snapshot": {"window": 100, "reserve_tokens": 10}, "settings": {"yellow_at": 0.5}}));
        assert_eq!((limits.usable, limits.red, limits.yellow), (90.0, 90.0, 45.0));
        let one = json!({"window": 100, "events": [{"kind": "compaction", "status": "succeeded", "trigger": "<b>"}],
            "points": [{"tokens": 5, "without_contextd": 9_000, "breakdown": {"messages": 5}}]});
        for timeline in [json!({}), one] {
            let drawn = saw_tooth(&timeline, &limits).into_string();
            assert!(!drawn.contains("NaN") && !drawn.contains("inf") && !drawn.contains("<b>"), "{drawn}");
        }
    }
}
