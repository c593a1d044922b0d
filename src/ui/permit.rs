//! What a login may see and press, by the scopes of its key.

use axum::http::Method;

use crate::service::core::access::Scope;

/// The scope that is needed; none: whoever has logged in.
pub fn needed(method: &Method, path: &str) -> Option<Scope> {
    let is_reading = matches!(*method, Method::GET | Method::HEAD);
    let is_forecast = path.ends_with("/prepare") || path.ends_with("/preview");
    match path {
        "/ui/logout" => None,
        _ if path == "/ui/keys" || path.starts_with("/ui/keys/") => Some(Scope::Admin),
        _ if is_reading || is_forecast => Some(Scope::Read),
        _ => Some(Scope::Write),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_something_needs_more_than_reading() {
        let sid = "/ui/sessions/0195c0de-0000-7000-8000-000000000000";
        assert_eq!(needed(&Method::GET, sid), Some(Scope::Read));
        assert_eq!(needed(&Method::POST, &format!("{sid}/compact")), Some(Scope::Write));
        assert_eq!(needed(&Method::POST, &format!("{sid}/prepare")), Some(Scope::Read));
        assert_eq!(needed(&Method::POST, "/ui/keys"), Some(Scope::Admin));
        assert_eq!(needed(&Method::POST, "/ui/keys/x/rotate"), Some(Scope::Admin));
        assert_eq!(needed(&Method::GET, "/ui/keys"), Some(Scope::Admin));
        assert_eq!(needed(&Method::POST, "/ui/keysomething"), Some(Scope::Write));
        assert!(needed(&Method::POST, "/ui/logout").is_none());
    }
}
