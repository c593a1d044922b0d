//! What a login may see and press, by the scopes of its key.

use axum::http::Method;

use crate::service::core::access::Scope;

/// The scopes of which one is needed; none: whoever has logged in.
pub fn needed(method: &Method, path: &str) -> &'static [Scope] {
    let is_reading = matches!(*method, Method::GET | Method::HEAD);
    let is_forecast = path.ends_with("/prepare") || path.ends_with("/preview");
    match path {
        "/ui/logout" => &[],
        _ if path == "/ui/keys" || path.starts_with("/ui/keys/") => {
            if is_reading { &[Scope::Read, Scope::Admin] } else { &[Scope::Admin] }
        }
        _ if is_reading || is_forecast => &[Scope::Read],
        _ => &[Scope::Write],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_something_needs_more_than_reading() {
        let sid = "/ui/sessions/0195c0de-0000-7000-8000-000000000000";
        assert_eq!(needed(&Method::GET, sid), [Scope::Read]);
        assert_eq!(needed(&Method::POST, &format!("{sid}/compact")), [Scope::Write]);
        assert_eq!(needed(&Method::POST, &format!("{sid}/prepare")), [Scope::Read]);
        assert_eq!(needed(&Method::POST, "/ui/keys"), [Scope::Admin]);
        assert_eq!(needed(&Method::POST, "/ui/keys/x/rotate"), [Scope::Admin]);
        assert_eq!(needed(&Method::GET, "/ui/keys"), [Scope::Read, Scope::Admin]);
        assert_eq!(needed(&Method::POST, "/ui/keysomething"), [Scope::Write]);
        assert!(needed(&Method::POST, "/ui/logout").is_empty());
    }
}
