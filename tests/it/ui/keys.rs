//! Keys: who sees which buttons, and what they do.

use contextd::service::core::access::Scope;
use reqwest::Method;
use serde_json::json;

use super::Visitor;
use crate::keys::Place;

/// The text of a new key on the page that shows it.
fn text_on(page: &str) -> String {
    let text = page.split("<code data-key>").nth(1).expect("a key is shown");
    text.split('<').next().unwrap().to_owned()
}

impl Visitor {
    /// Sends a page's form with more fields than its token.
    async fn fill(&self, page: &str, action: &str, fields: &[(&str, &str)]) -> super::Seen {
        let form = page.split("<form").find(|form| form.contains(&format!("action=\"{action}\"")));
        let form = form.unwrap_or_else(|| panic!("no form for {action}"));
        let token = super::value(form, "name=\"csrf\" value=\"");
        let own = [("origin", self.base.as_str())];
        let fields: Vec<(&str, &str)> = [("csrf", token)].into_iter().chain(fields.iter().copied()).collect();
        self.send(Method::POST, action, &own, &fields).await
    }
}

#[tokio::test]
async fn a_key_is_made_rotated_and_revoked_on_its_page() {
    let place = Place::new().await;
    let master = place.master().await;
    let visitor = Visitor::with_key(&place.server.base, &master).await;
    let page = visitor.get("/ui/keys").await.page();
    assert!(page.contains("this login&#39;s") || page.contains("this login's"));
    let hostile = "<script>canary()</script>\u{202e}";
    let fields = [("name", hostile), ("read", "on"), ("days", "30"), ("per_minute", "600")];
    let shown = visitor.fill(&page, "/ui/keys", &fields).await.page();
    assert!(!shown.contains("<script>canary") && shown.contains("⟨U+202E⟩"));
    let key = text_on(&shown);
    place.get(&key, "/v1/sessions").await.expect(200);
    place.post(&key, "/v1/sessions", json!({})).await.refused(403, "insufficient_scope");
    visitor.assert_links(&shown).await;

    let page = visitor.get("/ui/keys").await.page();
    assert!(!page.contains(&key[37..]) && !page.contains("data-key"), "it is shown once");
    assert!(page.contains("600 a minute") && page.matches("scope=\"row\"").count() == 2);
    let id = place.id_of(&key).await;
    let rotate = format!("/ui/keys/{id}/rotate");
    let shown = visitor.fill(&page, &rotate, &[("grace", "0")]).await.page();
    let next = text_on(&shown);
    assert!(next != key && shown.contains(&id.to_string()));
    place.get(&key, "/v1/sessions").await.refused(401, "unauthorized");
    place.get(&next, "/v1/sessions").await.expect(200);
    assert_eq!(visitor.fill(&page, &rotate, &[("grace", "0")]).await.status, 409, "an old page");
    assert_eq!(visitor.fill(&page, &rotate, &[("grace", "5")]).await.status, 422);

    let page = visitor.get("/ui/keys").await.page();
    let revoke = format!("/ui/keys/{}/revoke", place.id_of(&next).await);
    assert_eq!(visitor.press(&page, &revoke).await.leads_to(), "/ui/keys");
    place.get(&next, "/v1/sessions").await.refused(401, "unauthorized");
    let page = visitor.get("/ui/keys").await.page();
    assert!(!page.contains(&revoke), "what has ended has no buttons");
    for (fields, status) in [
        (vec![("name", "k")], 422),
        (vec![("name", " "), ("read", "on")], 422),
        (vec![("name", "k"), ("read", "on"), ("days", "0")], 422),
        (vec![("name", "k"), ("read", "on"), ("days", "x")], 422),
        (vec![("name", "k"), ("read", "on"), ("per_minute", "0")], 422),
        (vec![("read", "on")], 422),
    ] {
        let seen = visitor.fill(&page, "/ui/keys", &fields).await;
        assert_eq!(seen.status, status, "{fields:?}");
        seen.assert_guarded();
    }
    for odd in ["/ui/keys?after=5", "/ui/keys?after=%00"] {
        assert_eq!(visitor.get(odd).await.status, 422);
    }
    let foreign = place.key_of("foreign", &[Scope::Read]).await;
    let foreign = format!("/ui/keys/{}/revoke", place.id_of(&foreign).await);
    let token = super::value(&page, "name=\"csrf\" value=\"");
    let own = [("origin", place.server.base.as_str())];
    let seen = visitor.send(Method::POST, &foreign, &own, &[("csrf", token)]).await;
    assert_eq!(seen.status, 404);
    // Its own key ends the login.
    let revoke = format!("/ui/keys/{}/revoke", place.id_of(&master).await);
    assert_eq!(visitor.press(&page, &revoke).await.leads_to(), "/ui/keys");
    assert!(visitor.get("/ui/keys").await.leads_to().starts_with("/ui/login"));
}

#[tokio::test]
async fn who_may_only_read_sees_no_forms_and_can_send_none() {
    let place = Place::new().await;
    let (writer, reader) = (place.key(&[Scope::Write]).await, place.key(&[Scope::Read]).await);
    let session = place.post(&writer, "/v1/sessions", json!({"title": "One"})).await.expect(201);
    let session = format!("/ui/sessions/{}", session["id"].as_str().unwrap());
    let (writer, reader) =
        (Visitor::with_key(&place.server.base, &writer).await, Visitor::with_key(&place.server.base, &reader).await);
    let forms = |page: &str| -> Vec<String> {
        let forms =
            page.split("<form").skip(1).filter(|form| form.split('>').next().unwrap().contains("method=\"post\""));
        forms.map(|form| super::value(form, "action=\"").to_owned()).collect()
    };
    for path in ["/ui", "/ui/sessions", "/ui/compactions", "/ui/hooks", &session, &format!("{session}/settings")] {
        let page = reader.get(path).await.page();
        assert_eq!(forms(&page), ["/ui/logout"], "{path}");
        assert!(page.contains("Read only"), "{path}");
        let page = writer.get(path).await.page();
        assert!(!page.contains("Read only"));
        if path.starts_with(&session) {
            assert!(forms(&page).len() > 1, "{path}");
        }
    }
    let page = reader.get(&session).await.page();
    let token = super::value(&page, "name=\"csrf\" value=\"");
    let own = [("origin", place.server.base.as_str())];
    for action in [format!("{session}/compact"), format!("{session}/settings"), "/ui/compactions/purge".to_owned()] {
        let seen = reader.send(Method::POST, &action, &own, &[("csrf", token)]).await;
        assert_eq!(seen.status, 403, "{action}");
        assert!(seen.text.contains("scope write"), "{}", seen.text);
        seen.assert_guarded();
    }
    let token = super::value(&page, "name=\"csrf\" value=\"");
    let seen = reader.send(Method::POST, &format!("{session}/prepare"), &own, &[("csrf", token)]).await;
    assert_ne!(seen.status, 403, "a forecast is reading");
    for visitor in [&reader, &writer] {
        assert_eq!(visitor.get("/ui/keys").await.status, 403);
        let page = visitor.get("/ui").await.page();
        assert!(!page.contains("href=\"/ui/keys\""), "nothing leads there");
        let token = super::value(&page, "name=\"csrf\" value=\"");
        let fields = [("csrf", token), ("name", "k"), ("read", "on")];
        let seen = visitor.send(Method::POST, "/ui/keys", &own, &fields).await;
        assert_eq!(seen.status, 403);
        assert!(seen.text.contains("scope admin"), "{}", seen.text);
    }
    let manager = Visitor::with_key(&place.server.base, &place.key(&[Scope::Admin]).await).await;
    let page = manager.get("/ui/keys").await.page();
    assert!(page.contains("href=\"/ui/keys\""));
    manager.get("/ui/sessions").await.page();
}
