//! Hooks, and what it takes to keep, ask and tell them.

use sqlx::PgPool;

use crate::hooks::Client;

/// The hooks of all tenants: registered, asked and told. Cheap to clone.
#[derive(Clone)]
pub struct Hooks {
    pub(crate) pool: PgPool,
    pub(crate) client: Client,
    pub(crate) options: HookOptions,
}

/// How hooks are called.
#[derive(Debug, Clone)]
pub struct HookOptions {
    /// Addresses outside of the public internet may be called.
    pub allow_private_networks: bool,
    /// Most hooks of a tenant.
    pub max_hooks: i64,
    /// Attempts of a queued delivery before it counts as failed.
    pub max_attempts: i32,
}

impl Default for HookOptions {
    fn default() -> Self {
        HookOptions { allow_private_networks: false, max_hooks: 50, max_attempts: 8 }
    }
}

impl Hooks {
    pub fn new(pool: PgPool, options: HookOptions) -> Hooks {
        Hooks { pool, client: Client::new(options.allow_private_networks), options }
    }
}
