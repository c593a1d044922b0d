//! All upstreams of the service, by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::account::{CallAccount, CallContext, CallLedger};
use super::{SetupError, Upstream, UpstreamConfig, UpstreamKind};

pub use crate::domain::compaction::result::BUILTIN;

/// The upstreams by name, one of them the default.
#[derive(Clone)]
pub struct Upstreams {
    by_name: BTreeMap<String, Arc<Upstream>>,
    builtin: Arc<Upstream>,
    default: Arc<Upstream>,
    account: CallAccount,
}

impl Upstreams {
    /// Sets all of them up. `default` of `None` is the builtin. Fails on a bad configuration, a name given
    /// twice (`builtin` is taken), an unknown fallback or an unknown default.
    pub fn new(configs: Vec<UpstreamConfig>, default: Option<&str>) -> Result<Upstreams, SetupError> {
        let builtin = Arc::new(Upstream::new(UpstreamConfig::new(BUILTIN, UpstreamKind::Builtin))?);
        let mut by_name = BTreeMap::from([(BUILTIN.to_owned(), builtin.clone())]);
        for config in configs {
            let name = config.name.clone();
            // Naming the builtin in the configuration changes nothing.
            if name == BUILTIN && config.kind == UpstreamKind::Builtin {
                continue;
            }
            if by_name.insert(name.clone(), Arc::new(Upstream::new(config)?)).is_some() {
                return Err(SetupError::Duplicate { name });
            }
        }
        for upstream in by_name.values() {
            let UpstreamConfig { name, fallbacks, .. } = upstream.config();
            if let Some(fallback) = fallbacks.iter().find(|fallback| !by_name.contains_key(*fallback)) {
                return Err(SetupError::UnknownFallback { name: name.clone(), fallback: fallback.clone() });
            }
        }
        let wanted = default.unwrap_or(BUILTIN);
        let default = by_name.get(wanted).cloned();
        let default = default.ok_or_else(|| SetupError::UnknownDefault { name: wanted.to_owned() })?;
        Ok(Upstreams { by_name, builtin, default, account: CallAccount::default() })
    }

    /// The same, with somebody who keeps account of their calls.
    #[must_use]
    pub fn kept_by(self, ledger: Arc<dyn CallLedger>) -> Upstreams {
        Upstreams { account: CallAccount { ledger: Some(ledger), ..self.account }, ..self }
    }

    /// The same, called on somebody's behalf.
    #[must_use]
    pub fn on_behalf_of(&self, context: CallContext) -> Upstreams {
        Upstreams { account: CallAccount { context, ..self.account.clone() }, ..self.clone() }
    }

    /// The account that calls are made on.
    pub fn account(&self) -> &CallAccount {
        &self.account
    }

    pub fn get(&self, name: &str) -> Option<Arc<Upstream>> {
        self.by_name.get(name).cloned()
    }

    /// All of them, by name.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Upstream>> {
        self.by_name.values()
    }

    /// The upstream of sessions that name none.
    pub fn default_upstream(&self) -> Arc<Upstream> {
        self.default.clone()
    }

    /// The one that stands in when another fails.
    pub fn builtin(&self) -> Arc<Upstream> {
        self.builtin.clone()
    }
}
