//! The models that a provider lists: a call that costs nothing, and says whether the key is taken.

use serde_json::Value;

use super::{HttpUpstream, MAX_ANSWER, MAX_ERROR, read_all, read_prefix};
use crate::llm::error::cleaned;

/// What came of asking a provider for its models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listing {
    /// Their names; none where the answer is of another form.
    Models(Vec<String>),
    /// An answer with an error status, in the provider's words.
    Refused { code: u16, message: String },
    /// No answer, and why.
    Away(String),
}

impl HttpUpstream {
    /// Asks for the models, beside the endpoint that summaries are asked of.
    pub(in crate::llm) async fn models(&self) -> Listing {
        let late = || Listing::Away(format!("no answer within {:?}", self.timeout));
        tokio::time::timeout(self.timeout, self.listed()).await.unwrap_or_else(|_| late())
    }

    async fn listed(&self) -> Listing {
        let mut url = self.url.clone();
        let path = url.path().trim_end_matches(self.wire.path()).to_owned();
        url.set_path(&format!("{path}models"));
        let response = match self.client.get(url).headers(self.headers.clone()).send().await {
            Ok(response) => response,
            Err(error) => return Listing::Away(cause(error)),
        };
        let status = response.status();
        if !status.is_success() {
            let body = read_prefix(response, MAX_ERROR).await;
            let message = self.rejection(status, None, &body, &[]).to_string();
            return Listing::Refused { code: status.as_u16(), message };
        }
        let Ok(body) = read_all(response, MAX_ANSWER).await else {
            return Listing::Away("the answer broke off".to_owned());
        };
        let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        let models = answer["data"].as_array().map(Vec::as_slice).unwrap_or_default();
        Listing::Models(models.iter().filter_map(|model| Some(model["id"].as_str()?.to_owned())).collect())
    }
}

/// The innermost reason why a connection was not made: a name, a port, a certificate.
fn cause(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cleaned(&cause.to_string(), &[], &[])
}
