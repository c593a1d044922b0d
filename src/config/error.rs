//! Why a configuration is refused.

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{0}")]
    File(#[from] Box<figment::Error>),
    #[error("{name}: {detail}")]
    Value { name: String, detail: String },
}

impl ConfigError {
    pub(super) fn value(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::Value { name: name.into(), detail: detail.into() }
    }
}
