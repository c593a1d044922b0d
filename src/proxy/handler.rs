//! One request through the proxy, from its head to its answer's.

mod asked;

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use reqwest::Url;
use tokio::time::timeout;
use uuid::Uuid;

use crate::families;
use crate::proxy::answer::Answer;
use crate::proxy::bypass::BypassReason;
use crate::proxy::compactor::Compactor;
use crate::proxy::conversation::{Conversation, Reading};
use crate::proxy::headers::{self, KEY, PROXY};
use crate::proxy::identity::Identity;
use crate::proxy::incoming::{self, Frames, Incoming};
use crate::proxy::keeper::{Keeper, Kept};
use crate::proxy::refusal::{Refusal, Refused};
use crate::proxy::room::{Held, Room};
use crate::proxy::route::{Provider, Route};
use crate::proxy::speaker::Speaker;
use crate::proxy::unkept::Unkept;
use crate::proxy::upstream::{Call, Upstream};
use crate::service::Services;
use crate::service::core::access::{Access, Scope};
use crate::service::core::clock;
use crate::service::core::offload::offload;
use crate::service::core::tenant::Tenant;
use crate::service::stateless::Summariser;

/// After which a client is to ask again where its key can't be looked up.
const RETRY_SECONDS: u64 = 2;

/// How the proxy works.
#[derive(Debug, Clone)]
pub struct ProxyOptions {
    pub openai: ProviderOptions,
    pub anthropic: ProviderOptions,
    /// For our own part of a request.
    pub timeout: Duration,
    /// The tenant of requests without a key, if there is one.
    pub dev_tenant: Option<Tenant>,
    /// The largest body that is read, and how many bytes are held at once, for all and for one tenant.
    pub max_body: usize,
    pub buffered: usize,
    pub buffered_per_tenant: usize,
    /// How long a body may take, and stand still.
    pub body_timeout: Duration,
}

/// How one provider's API is handed requests on to.
#[derive(Debug, Clone)]
pub struct ProviderOptions {
    /// With its version segment.
    pub base_url: String,
    /// Compactions that it is asked for are done here.
    pub answers_compactions: bool,
}

/// Hands requests on to providers, with conversations compacted on the way.
pub struct Proxy {
    services: Arc<Services>,
    keeper: Keeper,
    compactor: Compactor,
    openai: Upstream,
    anthropic: Upstream,
    room: Room,
    options: ProxyOptions,
    /// Tells requests that come back.
    instance: String,
}

/// Whose request it is.
struct Asker {
    access: Access,
    /// The key could not be looked up now.
    is_unsure: bool,
}

/// A request that may carry a conversation, as far as it was read.
enum Prepared {
    /// It goes on as it comes, for this reason.
    AsItCame(reqwest::Body, BypassReason),
    Said(Said),
}

/// A conversation, and whose it is.
#[derive(Clone)]
struct Said {
    tenant: Tenant,
    identity: Option<Identity>,
    conversation: Arc<Conversation>,
    /// Until the answer begins, since the body may have to be sent again, and until the conversation is stored.
    held: Arc<Held>,
}

/// An answer, and the word for it in the metrics.
type Answered = (Response, &'static str);

impl Proxy {
    /// # Errors
    /// The system has no TLS certificates.
    pub fn new(
        services: Arc<Services>,
        summariser: Arc<dyn Summariser>,
        options: ProxyOptions,
    ) -> reqwest::Result<Proxy> {
        Ok(Proxy {
            keeper: Keeper::new(Arc::clone(&services), options.timeout),
            compactor: Compactor::new(Arc::clone(&services), summariser),
            services,
            openai: Upstream::new(&options.openai.base_url)?,
            anthropic: Upstream::new(&options.anthropic.base_url)?,
            room: Room::new(options.buffered, options.buffered_per_tenant),
            options,
            instance: clock::new_id().to_string(),
        })
    }

    /// Answers one request.
    pub async fn answer(&self, provider: Provider, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path().strip_prefix(provider.prefix()).unwrap_or_default();
        let route = Route::of(provider, &parts.method, path);
        let answered = self.answered(provider, route, &parts, body).await;
        let (response, outcome) = answered.unwrap_or_else(|refused| (refused.response(provider), "refused"));
        let route = route.map_or("other", |route| route.into_str());
        metrics::counter!(families::PROXY_REQUESTS, "route" => route, "outcome" => outcome).increment(1);
        response
    }

    async fn answered(
        &self,
        provider: Provider,
        route: Option<Route>,
        parts: &Parts,
        body: Body,
    ) -> Result<Answered, Refused> {
        let whole = parts.uri.path_and_query().map_or("", |path| path.as_str());
        let url = self.upstream(provider).address(whole.strip_prefix(provider.prefix()).unwrap_or_default())?;
        let proxies = headers::passed(&parts.headers, &self.instance).ok_or(Refusal::ProxyLoop)?;
        let Asker { access, is_unsure } = self.asker(&parts.headers).await?;
        let asker = Some(access).filter(|_| !is_unsure);
        let call = call(url, parts, proxies);
        let (mut response, outcome) = self.handed_on(provider, route, asker, call, &parts.headers, body).await?;
        // For the log line.
        response.extensions_mut().insert(access);
        Ok((response, outcome))
    }

    async fn handed_on(
        &self,
        provider: Provider,
        route: Option<Route>,
        asker: Option<Access>,
        mut call: Call,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<Answered, Refused> {
        let upstream = self.upstream(provider);
        let Some(route) = route else {
            let body = (!body.is_end_stream()).then(|| streamed(incoming::frames(body, self.options.body_timeout)));
            let answer = Answer::of(upstream.send(&call, body).await?);
            let answer = if asker.is_some() { answer } else { answer.bypassed(BypassReason::Unavailable) };
            return Ok((answer.passed_on(), "passed"));
        };
        let max_depth = self.services.sessions.options().max_depth;
        let reading = Reading { max_depth, answers: self.options(provider).answers_compactions };
        match self.prepared(route, asker, headers, body, reading).await? {
            Prepared::AsItCame(body, reason) => {
                let answer = Answer::of(upstream.send(&call, Some(body)).await?);
                Ok((answer.bypassed(reason).passed_on(), reason.into_str()))
            }
            Prepared::Said(said) => {
                // The answer is read as it passes.
                call.headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
                match said.conversation.asked.clone() {
                    Some(asked) => self.do_asked(upstream, call, said, asked).await,
                    None => self.converse(upstream, &call, said).await,
                }
            }
        }
    }

    /// Keeps a conversation and hands it on, both at once where nothing in it will be said otherwise.
    async fn converse(&self, upstream: &Upstream, call: &Call, said: Said) -> Result<Answered, Refused> {
        let Said { tenant, identity, conversation, held } = said;
        let as_it_came = Some(reqwest::Body::from(conversation.body.clone()));
        let is_foreseen = self.keeper.foresees(tenant, identity.as_ref(), &conversation);
        let keep = self.keeper.keep(tenant, identity, Arc::clone(&conversation), Arc::clone(&held));
        let (kept, answer) = if is_foreseen {
            let (kept, answer) = tokio::join!(keep, upstream.send(call, as_it_came));
            (kept.map(|kept| self.keeper.as_it_went(kept)), answer?)
        } else {
            let kept = match keep.await {
                Err(Unkept::Refused(refused)) => return Err(refused),
                kept => kept,
            };
            let compacted = kept.as_ref().ok().and_then(|kept| kept.compacted.clone());
            let answer = upstream.send(call, compacted.map(reqwest::Body::from).or(as_it_came)).await?;
            (kept, answer)
        };
        match kept {
            Ok(kept) => self.concluded(upstream, call, kept, &conversation, Answer::of(answer)).await,
            Err(Unkept::Bypass(reason)) => Ok((Answer::of(answer).bypassed(reason).passed_on(), reason.into_str())),
            Err(Unkept::Refused(refused)) => Err(refused),
        }
    }

    /// Compacts and asks once more where the provider finds the conversation too long.
    async fn concluded(
        &self,
        upstream: &Upstream,
        call: &Call,
        kept: Kept,
        conversation: &Arc<Conversation>,
        mut answer: Answer,
    ) -> Result<Answered, Refused> {
        if let Some(error) = answer.overflow().await
            && let Some(relieved) = self.keeper.relieve(&kept, conversation, error).await
        {
            let body = relieved.compacted.clone().unwrap_or_default();
            let answer = Answer::of(upstream.send(call, Some(body.into())).await?);
            return Ok((answer.kept(&relieved, &self.keeper), "relieved"));
        }
        let outcome = if kept.compacted.is_some() { "compacted" } else { "kept" };
        Ok((answer.kept(&kept, &self.keeper), outcome))
    }

    /// Reads a conversation, as far as that can be done.
    async fn prepared(
        &self,
        route: Route,
        asker: Option<Access>,
        headers: &HeaderMap,
        body: Body,
        reading: Reading,
    ) -> Result<Prepared, Refused> {
        let frames = incoming::frames(body, self.options.body_timeout);
        let Some(Access { tenant, key_id, .. }) = asker.filter(|_| self.services.health.is_reachable()) else {
            return Ok(Prepared::AsItCame(streamed(frames), BypassReason::Unavailable));
        };
        if headers::is_encoded(headers) {
            return Ok(Prepared::AsItCame(streamed(frames), BypassReason::Unreadable));
        }
        let (limit, time) = (self.options.max_body, self.options.body_timeout);
        let (bytes, held) = match incoming::read(frames, limit, time, self.room.enter(tenant)).await? {
            Incoming::Whole(bytes, held) => (bytes, held),
            Incoming::Longer(frames, reason) => return Ok(Prepared::AsItCame(streamed(frames), reason)),
        };
        match self.read(route, bytes.clone(), reading).await {
            Ok(conversation) => {
                let identity = identity(&conversation, headers, key_id);
                let (conversation, held) = (Arc::new(conversation), Arc::new(held));
                Ok(Prepared::Said(Said { tenant, identity, conversation, held }))
            }
            Err(Unkept::Refused(refused)) => Err(refused),
            Err(Unkept::Bypass(reason)) => Ok(Prepared::AsItCame(bytes.into(), reason)),
        }
    }

    async fn read(&self, route: Route, body: Bytes, reading: Reading) -> Result<Conversation, Unkept> {
        let read = offload(body.len(), move || Conversation::read(route, body, reading));
        match timeout(self.options.timeout, read).await {
            Ok(read) => read?,
            Err(_) => Err(BypassReason::Timeout.into()),
        }
    }

    /// Who asks, with a key that may write.
    async fn asker(&self, headers: &HeaderMap) -> Result<Asker, Refused> {
        if let Some(tenant) = self.options.dev_tenant {
            return Ok(Asker { access: Access::whole(tenant), is_unsure: false });
        }
        let key = headers.get(KEY).and_then(|key| key.to_str().ok()).ok_or(Refusal::Unauthorized)?.trim();
        let asker = self.looked_up(key).await?;
        self.services.keys.admit(&asker.access)?;
        if !asker.access.scopes.allow(Scope::Write) {
            return Err(Refusal::InsufficientScope.into());
        }
        Ok(asker)
    }

    /// Whose the key is. Where the database can't be asked, a key that was seen good within the hour is let through.
    async fn looked_up(&self, key: &str) -> Result<Asker, Refused> {
        match timeout(self.options.timeout, self.services.keys.authenticate(key)).await {
            Ok(Ok(access)) => return Ok(Asker { access: access.ok_or(Refusal::Unauthorized)?, is_unsure: false }),
            Ok(Err(error)) => tracing::error!(%error, "a key could not be looked up"),
            Err(_) => tracing::error!("a key could not be looked up in time"),
        }
        let seen = self.services.keys.seen_lately(key);
        let unavailable = || Refused { retry_after: Some(RETRY_SECONDS), ..Refusal::Unavailable.into() };
        Ok(Asker { access: seen.ok_or_else(unavailable)?, is_unsure: true })
    }

    fn options(&self, provider: Provider) -> &ProviderOptions {
        match provider {
            Provider::Openai => &self.options.openai,
            Provider::Anthropic => &self.options.anthropic,
        }
    }

    fn upstream(&self, provider: Provider) -> &Upstream {
        match provider {
            Provider::Openai => &self.openai,
            Provider::Anthropic => &self.anthropic,
        }
    }
}

/// What the conversation is known by: what names it, else a sealed handle, else what was said.
fn identity(conversation: &Conversation, headers: &HeaderMap, key_id: Option<Uuid>) -> Option<Identity> {
    let by_content = || {
        if let Some(handle) = &conversation.handle {
            return Some(Identity::of_content(handle));
        }
        Identity::of_speech(&Speaker::of(key_id, headers), &conversation.opening)
    };
    Identity::of_headers(headers).or_else(|| conversation.identity.clone()).or_else(by_content)
}

fn streamed(frames: Frames) -> reqwest::Body {
    reqwest::Body::wrap_stream(frames)
}

/// The request as it is handed on.
fn call(url: Url, parts: &Parts, proxies: HeaderValue) -> Call {
    let mut headers = headers::handed_on(&parts.headers);
    headers.remove(header::HOST);
    headers.insert(PROXY, proxies);
    Call { method: parts.method.clone(), url, headers }
}
