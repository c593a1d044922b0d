//! What a key lets its holder do.

use serde::{Deserialize, Serialize, Serializer};
use strum::VariantArray;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::service::core::tenant::Tenant;

/// What a key may do: `read` looks at everything of the tenant, `write` changes it and includes `read`, `admin` manages
/// keys.
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

/// A set of scopes; one with `write` has `read` too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scopes(u8);

impl Scopes {
    pub const ALL: Scopes = Scopes(0b111);

    pub fn of(scopes: impl IntoIterator<Item = Scope>) -> Scopes {
        let bit = |scope| match scope {
            Scope::Read => 0b001,
            Scope::Write => 0b011,
            Scope::Admin => 0b100,
        };
        Scopes(scopes.into_iter().fold(0, |all, scope| all | bit(scope)))
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn has(self, scope: Scope) -> bool {
        let bit = match scope {
            Scope::Read => 0b001,
            Scope::Write => 0b010,
            Scope::Admin => 0b100,
        };
        self.0 & bit != 0
    }

    /// Those of `wanted` that are not among these.
    pub fn lacking(self, wanted: Scopes) -> Scopes {
        Scopes(wanted.0 & !self.0)
    }

    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::VARIANTS.iter().copied().filter(move |scope| self.has(*scope))
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
        Access { tenant, key_id: None, scopes: Scopes::ALL, requests_per_minute: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_includes_reading_and_managing_keys_nothing_else() {
        assert_eq!(Scopes::of([Scope::Write]), Scopes::of([Scope::Read, Scope::Write]));
        assert_eq!(Scopes::of([Scope::Write]).words(), ["read", "write"]);
        assert_eq!(Scopes::of([Scope::Admin]).words(), ["admin"]);
        assert_eq!(Scopes::of(Scope::VARIANTS.iter().copied()), Scopes::ALL);
        let read = Scopes::of([Scope::Read]);
        assert!(!read.has(Scope::Write) && !read.has(Scope::Admin) && read.has(Scope::Read));
        assert_eq!(read.lacking(Scopes::ALL).words(), ["write", "admin"]);
        assert!(Scopes::ALL.lacking(read).is_empty() && Scopes::of([]).is_empty());
    }
}
