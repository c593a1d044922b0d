//! The W3C trace context, read strictly and written: `traceparent` and `tracestate`.

use std::str::FromStr;

use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use reqwest::header::HeaderMap;

pub(super) const TRACEPARENT: &str = "traceparent";
pub(super) const TRACESTATE: &str = "tracestate";

/// `00-`, 32 hex digits, `-`, 16, `-`, 2.
const LENGTH: usize = 55;
/// A longer `tracestate`, or one of more members, is left out.
const STATE_BYTES: usize = 512;
const STATE_MEMBERS: usize = 32;
/// The flags that are known: sampled, and (level 2) that the trace id is random.
const KNOWN_FLAGS: u8 = 0b11;

/// A place in somebody's trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext(SpanContext);

impl TraceContext {
    /// That of a request. `None`: it has none, several, or one that is malformed.
    pub fn of_headers(headers: &HeaderMap) -> Option<TraceContext> {
        let mut parents = headers.get_all(TRACEPARENT).iter();
        let parent = parents.next()?.to_str().ok()?;
        if parents.next().is_some() {
            return None;
        }
        let states = headers.get_all(TRACESTATE).iter().map(|value| value.to_str().ok());
        let state = states.collect::<Option<Vec<&str>>>().map(|states| states.join(","));
        TraceContext::parse(parent, state.as_deref())
    }

    /// A malformed `tracestate` is left out; a malformed `traceparent` gives `None`.
    pub fn parse(traceparent: &str, tracestate: Option<&str>) -> Option<TraceContext> {
        let version = hex(traceparent.get(..2)?)?;
        let is_whole = match version {
            0 => traceparent.len() == LENGTH,
            // What a later version adds comes behind another dash.
            _ => matches!(traceparent.as_bytes().get(LENGTH), None | Some(b'-')),
        };
        let dashes = [2, 35, 52].iter().all(|at| traceparent.as_bytes().get(*at) == Some(&b'-'));
        if version == u64::from(u8::MAX) || !is_whole || !dashes {
            return None;
        }
        let [high, low, span, flags] = [3..19, 19..35, 36..52, 53..55].map(|at| traceparent.get(at).and_then(hex));
        let trace_id = TraceId::from((u128::from(high?) << 64) | u128::from(low?));
        let flags = TraceFlags::new(u8::try_from(flags?).ok()? & KNOWN_FLAGS);
        let state = tracestate.and_then(state).unwrap_or_default();
        let context = SpanContext::new(trace_id, SpanId::from(span?), flags, true, state);
        context.is_valid().then_some(TraceContext(context))
    }

    pub(super) fn of(context: &Context) -> Option<TraceContext> {
        let span = context.span();
        let span = span.span_context();
        span.is_valid().then(|| TraceContext(span.clone()))
    }

    pub(super) fn span_context(&self) -> &SpanContext {
        &self.0
    }

    /// 32 hex digits.
    pub fn trace_id(&self) -> String {
        self.0.trace_id().to_string()
    }

    pub fn traceparent(&self) -> String {
        format!("00-{}-{}-{:02x}", self.0.trace_id(), self.0.span_id(), self.0.trace_flags().to_u8())
    }

    /// `None`: it is empty.
    pub fn tracestate(&self) -> Option<String> {
        Some(self.0.trace_state().header()).filter(|state| !state.is_empty())
    }
}

/// Lower-case digits alone.
fn hex(digits: &str) -> Option<u64> {
    let is_plain = digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    is_plain.then(|| u64::from_str_radix(digits, 16).ok())?
}

fn state(text: &str) -> Option<TraceState> {
    let members = text.split(',').filter(|member| !member.trim().is_empty()).count();
    (text.len() <= STATE_BYTES && members <= STATE_MEMBERS).then(|| TraceState::from_str(text).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn headers(all: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in all {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn a_context_comes_back_as_it_was_written() {
        let read = TraceContext::parse(PARENT, Some("vendor=1, other@tenant=a b")).unwrap();
        assert_eq!(read.traceparent(), PARENT);
        assert_eq!(read.tracestate().as_deref(), Some("vendor=1,other@tenant=a b"));
        assert_eq!(read.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
        let unsampled = PARENT.replace("-01", "-00");
        assert_eq!(TraceContext::parse(&unsampled, None).unwrap().traceparent(), unsampled);
        assert_eq!(TraceContext::parse(&PARENT.replace("-01", "-ff"), None).unwrap().traceparent()[53..], *"03");
    }

    #[test]
    fn what_is_malformed_is_none() {
        let zero_trace = format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32));
        let zero_span = format!("00-4bf92f3577b34da6a3ce929d0e0e4736-{}-01", "0".repeat(16));
        let bad = [
            "",
            "00",
            "é0-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            &PARENT.to_uppercase(),
            &PARENT.replace("00-4", "ff-4"),
            &PARENT.replace("4bf", "4bg"),
            &PARENT.replace("4bf", "+bf"),
            &PARENT.replace('-', "_"),
            &format!("{PARENT}-more"),
            &format!("{PARENT} "),
            &PARENT[..54],
            &zero_trace,
            &zero_span,
        ];
        for text in bad {
            assert_eq!(TraceContext::parse(text, None), None, "{text:?}");
        }
        assert!(TraceContext::parse(&format!("cc{}-more", &PARENT[2..]), None).is_some(), "of a later version");
        assert_eq!(TraceContext::parse(&format!("cc{}.more", &PARENT[2..]), None), None);
    }

    #[test]
    fn a_state_that_is_malformed_or_too_large_is_left_out() {
        let (long, many) = (format!("a={}", "x".repeat(600)), "a=1,".repeat(33));
        for state in ["no equals sign", "UPPER=1", long.as_str(), many.as_str()] {
            let read = TraceContext::parse(PARENT, Some(state)).unwrap();
            assert_eq!(read.tracestate(), None, "{state}");
        }
    }

    #[test]
    fn one_parent_and_all_states_are_read() {
        let read = TraceContext::of_headers(&headers(&[
            ("traceparent", PARENT),
            ("tracestate", "a=1"),
            ("tracestate", "b=2"),
            ("baggage", "user=1"),
        ]));
        assert_eq!(read.unwrap().tracestate().as_deref(), Some("a=1,b=2"));
        assert_eq!(TraceContext::of_headers(&headers(&[("traceparent", PARENT), ("traceparent", PARENT)])), None);
        assert_eq!(TraceContext::of_headers(&headers(&[("tracestate", "a=1")])), None);
    }
}
