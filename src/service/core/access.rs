//! What a key lets its holder do.

use serde::{Deserialize, Serialize, Serializer};
use strum::VariantArray;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::service::core::tenant::Tenant;

/// What a key may do; each scope includes those before it. `read` looks at everything of the tenant, `write` changes it,
/// `admin` manages keys.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    ToSchema,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Scope {
    Read,
    Write,
    Admin,
}

/// The scopes that a key was given: a bit for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scopes(u8);

impl Scopes {
    pub fn of(scopes: impl IntoIterator<Item = Scope>) -> Scopes {
        Scopes(scopes.into_iter().fold(0, |all, scope| all | 1 << scope as u8))
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Tells if one of them is `scope` or includes it.
    pub fn allow(self, scope: Scope) -> bool {
        self.0 >> scope as u8 != 0
    }

    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::VARIANTS.iter().copied().filter(move |scope| self.0 & 1 << *scope as u8 != 0)
    }

    pub fn words(self) -> Vec<&'static str> {
        self.iter().map(|scope| scope.into_str()).collect()
    }
}

impl Serialize for Scopes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// Who asks: a tenant, and what the key that was given lets do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    pub tenant: Tenant,
    /// `None`: no key was needed.
    pub key_id: Option<Uuid>,
    pub scopes: Scopes,
    /// Requests that the key may make within a minute.
    pub requests_per_minute: Option<u32>,
}

impl Access {
    /// Everything: for the operator's command line, and where no key is needed.
    pub fn whole(tenant: Tenant) -> Access {
        Access { tenant, key_id: None, scopes: Scopes::of([Scope::Admin]), requests_per_minute: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_includes_those_before_it() {
        let allowed = |scopes: &[Scope]| {
            let scopes = Scopes::of(scopes.iter().copied());
            Scope::VARIANTS.iter().filter(|scope| scopes.allow(**scope)).count()
        };
        assert_eq!([&[][..], &[Scope::Read], &[Scope::Write], &[Scope::Admin]].map(allowed), [0, 1, 2, 3]);
        assert_eq!(allowed(&[Scope::Read, Scope::Admin]), 3);
        let given = Scopes::of([Scope::Admin, Scope::Read]);
        assert_eq!(given.words(), ["read", "admin"], "told as they were given");
        assert!(Scopes::of([]).is_empty() && !given.is_empty());
    }
}
