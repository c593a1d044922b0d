//! What metrics, spans and log lines tell of a compaction is held back until its transaction is committed. Where nobody
//! waits for that any more, nothing is told.

use std::sync::{Arc, Mutex, PoisonError};

use crate::service::core::error::Result;

type Telling = Box<dyn FnOnce(bool) + Send>;

tokio::task_local! {
    static HELD_BACK: HeldBack;
}

#[derive(Clone, Default)]
struct HeldBack(Arc<Mutex<Vec<Telling>>>);

impl HeldBack {
    fn end(&self, has_landed: bool) {
        let tellings = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        tellings.into_iter().for_each(|telling| telling(has_landed));
    }
}

/// Does work that succeeds only with its commit: what is told meanwhile is told then, and not where the work fails.
pub(crate) fn committing<T, F: Future<Output = Result<T>>>(work: F) -> impl Future<Output = Result<T>> + use<T, F> {
    let held = HeldBack::default();
    let work = HELD_BACK.scope(held.clone(), Box::pin(work));
    async move {
        let done = work.await;
        held.end(done.is_ok());
        done
    }
}

/// Tells of what was just written, once it is committed; at once where nobody says when that is.
pub(crate) fn tell(telling: impl FnOnce() + Send + 'static) {
    at_end(|has_landed| {
        if has_landed {
            telling();
        }
    });
}

/// As [`tell`], also where what was written is rolled back.
pub(crate) fn at_end(telling: impl FnOnce(bool) + Send + 'static) {
    let mut telling = Some(telling);
    let _ = HELD_BACK.try_with(|held| {
        if let Some(telling) = telling.take() {
            held.0.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(telling));
        }
    });
    if let Some(telling) = telling {
        telling(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::core::error::ServiceError;

    #[tokio::test]
    async fn what_is_told_waits_for_the_commit_that_it_belongs_to() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let say = |word: &'static str| {
            let told = Arc::clone(&told);
            tell(move || told.lock().unwrap().push(word));
        };
        let words = || std::mem::take(&mut *told.lock().unwrap());
        say("alone");
        assert_eq!(words(), ["alone"]);
        let work = async {
            say("outer");
            let inner = async {
                say("inner");
                Ok(())
            };
            committing(inner).await?;
            assert_eq!(words(), ["inner"]);
            Ok(())
        };
        committing(work).await.unwrap();
        assert_eq!(words(), ["outer"]);
        let failed = async {
            say("never");
            let told = Arc::clone(&told);
            at_end(move |has_landed| told.lock().unwrap().push(if has_landed { "landed" } else { "rolled back" }));
            Err::<(), _>(ServiceError::NotFound("session"))
        };
        committing(failed).await.unwrap_err();
        assert_eq!(words(), ["rolled back"]);
    }
}
