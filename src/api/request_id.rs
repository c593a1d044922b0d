//! The id of the request being answered.

tokio::task_local! {
    static CURRENT: String;
}

/// Answers a request under its id.
pub async fn within<T>(id: String, answer: impl Future<Output = T>) -> T {
    CURRENT.scope(id, answer).await
}

/// `None` outside of any request.
pub fn current() -> Option<String> {
    CURRENT.try_with(Clone::clone).ok()
}
