//! A model's answers judged against what they replace. Reading a large span takes a while: no thread of the runtime
//! waits for it.

use std::sync::Arc;

use tokio::task::{JoinError, spawn_blocking};

use crate::domain::model::message::Stop;
use crate::domain::settings::Estimator;
use crate::domain::summary::SummaryTask;
use crate::domain::summary::verify::{RejectReason, SpanEvidence, check_summary};

/// What the answers to one question are judged by.
pub(super) struct Judge {
    span: Arc<SpanEvidence>,
    replaced_tokens: u64,
    estimator: Estimator,
}

impl Judge {
    /// For answers to a task; `context` is what the model was shown besides.
    pub(super) async fn of(
        task: SummaryTask,
        context: Vec<String>,
        replaced_tokens: u64,
        estimator: Estimator,
    ) -> Result<Judge, JoinError> {
        let span = spawn_blocking(move || {
            let span = SpanEvidence::of(&task);
            if context.is_empty() { span } else { span.with_context(context) }
        });
        Ok(Judge { span: Arc::new(span.await?), replaced_tokens, estimator })
    }

    /// Whether one answer may be stored.
    pub(super) async fn check(&self, text: &str, stop: Stop) -> Result<Result<(), RejectReason>, JoinError> {
        let (text, span) = (text.to_owned(), self.span.clone());
        let (replaced_tokens, estimator) = (self.replaced_tokens, self.estimator);
        spawn_blocking(move || check_summary(&text, Some(stop), replaced_tokens, estimator, &span)).await
    }
}
