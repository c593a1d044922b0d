//! A provider's answer on its way to the client.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use futures::future::ready;
use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt, TryStreamExt};
use tokio::time::timeout;

use crate::domain::tokens::overflow::{error_text, is_context_overflow};
use crate::proxy::asked::answers::OwnAnswer;
use crate::proxy::asked::rewrite::{Report, Rewriter};
use crate::proxy::bypass::BypassReason;
use crate::proxy::headers::{self, BYPASS, COMPACTION, SESSION, STATE, TOKENS};
use crate::proxy::keeper::{Keeper, Kept};
use crate::proxy::stream_opening::StreamOpening;
use crate::proxy::usage::{UsageReader, is_stream};

/// How much of an error's body is read, bytes, and of a stream's beginning.
const MAX_ERROR: usize = 64 << 10;
/// How long the beginning of a stream is held back.
const LONGEST_HELD: Duration = Duration::from_secs(2);

/// An answer, of which nothing is lost by looking at its beginning.
pub struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    seen: Vec<reqwest::Result<Bytes>>,
    rest: BoxStream<'static, reqwest::Result<Bytes>>,
    rewriter: Option<Rewriter>,
}

impl Answer {
    pub fn of(answer: reqwest::Response) -> Answer {
        let (status, headers) = (answer.status(), headers::handed_on(answer.headers()));
        Answer { status, headers, seen: Vec::new(), rest: answer.bytes_stream().boxed(), rewriter: None }
    }

    /// An answer of this service's own.
    pub fn own(answer: OwnAnswer) -> Answer {
        let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(answer.content_type))]);
        let seen = vec![Ok(Bytes::from(answer.body))];
        Answer { status: StatusCode::OK, headers, seen, rest: stream::empty().boxed(), rewriter: None }
    }

    /// The answer, which is to tell what was done to its request.
    pub fn rewritten(mut self, report: Report) -> Answer {
        if self.is_read() {
            self.rewriter = Rewriter::of(report, self.content_type());
            self.headers.remove(header::CONTENT_LENGTH);
        }
        self
    }

    /// Returns true if the answer is a good one that can be read as it passes.
    fn is_read(&self) -> bool {
        self.status.is_success() && !headers::is_encoded(&self.headers)
    }

    fn content_type(&self) -> &str {
        self.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default()
    }

    /// The provider's words, where they say that the request is longer than the model's window.
    pub async fn overflow(&mut self) -> Option<String> {
        if self.is_read() && is_stream(self.content_type()) {
            return self.overflow_in_stream().await;
        }
        if !matches!(self.status.as_u16(), 400 | 413 | 422) {
            return None;
        }
        let mut body: Vec<u8> = Vec::new();
        while body.len() < MAX_ERROR
            && let Some(bytes) = self.rest.next().await
        {
            body.extend_from_slice(bytes.as_deref().unwrap_or_default());
            self.seen.push(bytes);
        }
        let text = error_text(self.status.as_u16(), &body);
        is_context_overflow(&text).then_some(text)
    }

    /// The same of a stream, which may begin before the provider has looked at the request. Events that say no more than that
    /// are held back for a moment: until another one comes.
    async fn overflow_in_stream(&mut self) -> Option<String> {
        let mut opening = StreamOpening::default();
        let held = async {
            while opening.goes_on()
                && let Some(bytes) = self.rest.next().await
            {
                opening.push(bytes.as_deref().unwrap_or_default());
                self.seen.push(bytes);
            }
        };
        _ = timeout(LONGEST_HELD, held).await;
        opening.error.filter(|text| is_context_overflow(text))
    }

    /// Says in the headers why the request went on as it came.
    pub fn bypassed(mut self, reason: BypassReason) -> Answer {
        self.headers.insert(BYPASS, HeaderValue::from_static(reason.into_str()));
        self
    }

    /// Says in the headers where the conversation is kept.
    pub fn told(mut self, kept: &Kept) -> Answer {
        self.headers.insert(TOKENS, HeaderValue::from(kept.tokens));
        self.headers.insert(STATE, HeaderValue::from_static(kept.state.into_str()));
        for (name, id) in [(SESSION, Some(kept.session)), (COMPACTION, kept.compaction)] {
            if let Some(value) = id.and_then(|id| HeaderValue::from_str(&id.to_string()).ok()) {
                self.headers.insert(name, value);
            }
        }
        self
    }

    /// The answer to a conversation: the headers say where it is kept, and its usage is read while it passes.
    pub fn kept(self, kept: &Kept, keeper: &Keeper) -> Response {
        let reader = UsageReader::of(self.content_type()).filter(|_| self.is_read());
        let mut meter = Meter { reader, keeper: keeper.clone(), kept: kept.clone() };
        self.told(kept).response(move |bytes| meter.read(bytes))
    }

    /// The answer as it came.
    pub fn passed_on(self) -> Response {
        self.response(|_| ())
    }

    fn response(self, mut look: impl FnMut(&Bytes) + Send + 'static) -> Response {
        let bytes = stream::iter(self.seen).chain(self.rest).inspect_ok(move |bytes| look(bytes));
        let body = match self.rewriter {
            Some(rewriter) => Body::from_stream(flushed(rewritten(bytes.boxed(), rewriter))),
            None => Body::from_stream(flushed(bytes)),
        };
        let mut response = Response::new(body);
        (*response.status_mut(), *response.headers_mut()) = (self.status, self.headers);
        response
    }
}

fn rewritten(
    bytes: BoxStream<'static, reqwest::Result<Bytes>>,
    rewriter: Rewriter,
) -> impl Stream<Item = reqwest::Result<Bytes>> {
    let next = |state: Option<(BoxStream<'static, reqwest::Result<Bytes>>, Rewriter)>| async move {
        let (mut bytes, mut rewriter) = state?;
        Some(match bytes.next().await {
            Some(Ok(piece)) => (Ok(rewriter.push(&piece)), Some((bytes, rewriter))),
            Some(Err(error)) => (Err(error), None),
            None => (Ok(rewriter.finish()), None),
        })
    };
    stream::unfold(Some((bytes, rewriter)), next).try_filter(|piece| ready(!piece.is_empty()))
}

/// The same, with a pause before an error: the server lets go of what it has not written when one comes.
fn flushed<E>(pieces: impl Stream<Item = Result<Bytes, E>>) -> impl Stream<Item = Result<Bytes, E>> {
    pieces.then(|piece| async {
        if piece.is_err() {
            tokio::task::yield_now().await;
        }
        piece
    })
}

/// Reads the usage of an answer, and keeps it once the answer has passed.
struct Meter {
    reader: Option<UsageReader>,
    keeper: Keeper,
    kept: Kept,
}

impl Meter {
    fn read(&mut self, bytes: &Bytes) {
        if let Some(reader) = &mut self.reader {
            reader.push(bytes);
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if let Some(usage) = self.reader.take().and_then(UsageReader::finish) {
            self.keeper.report(&self.kept.key, self.kept.leaf, usage);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::poll;
    use std::task::Poll;

    use super::*;

    #[tokio::test]
    async fn what_came_before_a_break_goes_out_before_it() {
        let mut pieces = Box::pin(flushed(stream::iter([Ok(Bytes::from("a")), Err("broken")])));
        assert_eq!(poll!(pieces.next()), Poll::Ready(Some(Ok(Bytes::from("a")))));
        assert_eq!(poll!(pieces.next()), Poll::Pending, "a server writes what it has where there is nothing to do");
        assert_eq!(pieces.next().await, Some(Err("broken")));
        assert_eq!(pieces.next().await, None);
    }
}
