//! Who sees pages, and until when.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use contextd::service::core::access::Scope;
use hmac::{Hmac, KeyInit, Mac};
use reqwest::Method;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::Visitor;
use crate::app::{App, Keyed};
use crate::keys::Place;

const PAGES: [&str; 6] = ["/ui", "/ui/sessions", "/ui/compactions", "/ui/hooks", "/ui/keys", "/ui/nothing"];
const SECRET: &str = "a secret that all processes of an installation share";

async fn place() -> Place {
    Place::with(&[], &[("CONTEXTD_UI_SECRET", SECRET)]).await
}

/// A key that opens every page.
async fn key(place: &Place, tenant: &str) -> String {
    place.key_of(tenant, &[Scope::Admin]).await
}

#[tokio::test]
async fn a_key_opens_the_pages_until_it_is_revoked() {
    let place = place().await;
    let stranger = Visitor::of(&place.server.base);
    for page in PAGES {
        let seen = stranger.get(page).await;
        let wanted = format!("/ui/login?next={}", page.replace('/', "%2F"));
        assert_eq!(seen.leads_to(), wanted);
        seen.assert_guarded();
    }
    stranger.get("/ui/login").await.page();
    let refused = stranger.log_in("ctxd_no_key").await;
    assert_eq!(refused.status, 401);
    refused.assert_guarded();
    assert!(refused.headers.get("set-cookie").is_none());

    let key = key(&place, "own").await;
    let entered = stranger.log_in(&key).await;
    let cookie = entered.header("set-cookie");
    for part in ["HttpOnly", "SameSite=Strict", "Path=/ui", "Max-Age=43200"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains(&key[5..]), "the key is not in it");
    let visitor = Visitor::with_key(&place.server.base, &key).await;
    for page in PAGES {
        let seen = visitor.get(page).await;
        assert_eq!(seen.status, if page == "/ui/nothing" { 404 } else { 200 }, "{page}");
        seen.assert_guarded();
    }

    // Another process of the installation knows the login too.
    let other = Keyed::start(&place.database, &[], &[("CONTEXTD_UI_SECRET", SECRET)]);
    let mut there = Visitor::of(&other.base);
    there.cookie = visitor.cookie.clone();
    there.get("/ui").await.page();
    let stranger_to_it = Keyed::start(&place.database, &[], &[]);
    let mut there = Visitor::of(&stranger_to_it.base);
    there.cookie = visitor.cookie.clone();
    assert_eq!(there.get("/ui").await.status, 303);

    let keys = place.services.keys.list().await.unwrap();
    place.services.keys.revoke(keys[0].key.id).await.unwrap();
    assert_eq!(visitor.get("/ui").await.status, 303, "at the next request");
    let fragment = visitor.send(Method::GET, "/ui/overview", &[("hx-request", "true")], &[]).await;
    assert_eq!((fragment.status, fragment.header("hx-redirect")), (401, "/ui/login"));
}

#[tokio::test]
async fn a_cookie_that_is_not_ours_leads_to_the_login() {
    let place = place().await;
    let mut visitor = Visitor::with_key(&place.server.base, &key(&place, "own").await).await;
    let whole = visitor.cookie.clone().unwrap();
    let other = Visitor::with_key(&place.server.base, &key(&place, "other").await).await.cookie.unwrap();
    let spliced = format!("{}{}", &whole[..whole.len() - 44], &other[other.len() - 44..]);
    let cut: Vec<String> =
        [1, 2, 20, 60, whole.len() - 13].iter().map(|less| whole[..whole.len() - less].to_owned()).collect();
    let odd = [
        "contextd_ui=".to_owned(),
        "contextd_ui=%00".to_owned(),
        format!("contextd_ui={}", "A".repeat(96)),
        format!("contextd_ui={}", "A".repeat(4_000)),
        format!("contextd_ui={}", "A".repeat(8_192)),
        format!("contextd_ui={}", "%C3%A9\"\\,".repeat(1_000)),
        whole.replacen("contextd_ui=A", "contextd_ui=B", 1).to_lowercase(),
        spliced,
    ];
    for forged in odd.into_iter().chain(cut).chain(flipped(&whole)).chain(sealed_otherwise(&whole)) {
        visitor.cookie = Some(forged.clone());
        let seen = visitor.get("/ui").await;
        assert!(seen.leads_to().starts_with("/ui/login"), "{forged}");
        seen.assert_guarded();
        let pressed =
            visitor.send(Method::POST, "/ui/logout", &[("origin", &place.server.base)], &[("csrf", "")]).await;
        assert!(pressed.leads_to().starts_with("/ui/login"), "{forged}");
    }
    visitor.cookie = Some(format!("other=1; {whole}; more=2"));
    visitor.get("/ui").await.page();
}

/// The cookie with one bit of another value, at each of its bytes.
fn flipped(whole: &str) -> Vec<String> {
    let sealed = URL_SAFE_NO_PAD.decode(whole.strip_prefix("contextd_ui=").unwrap()).unwrap();
    let flip = |at: usize| {
        let mut forged = sealed.clone();
        forged[at] ^= 1 << (at % 8);
        format!("contextd_ui={}", URL_SAFE_NO_PAD.encode(forged))
    };
    (0..sealed.len()).map(flip).collect()
}

/// The same login sealed with another secret, and with the right one but over.
fn sealed_otherwise(whole: &str) -> Vec<String> {
    let sealed = URL_SAFE_NO_PAD.decode(whole.strip_prefix("contextd_ui=").unwrap()).unwrap();
    let seal = |secret: &str, ends_at: i64| {
        let key: [u8; 32] = Sha256::digest(secret.as_bytes()).into();
        let mut login = sealed[..32].to_vec();
        login.extend(ends_at.to_be_bytes());
        login.extend(&sealed[40..56]);
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
        mac.update(b"login:");
        mac.update(&login);
        login.extend(mac.finalize().into_bytes());
        format!("contextd_ui={}", URL_SAFE_NO_PAD.encode(login))
    };
    let end = i64::from_be_bytes(sealed[32..40].try_into().unwrap());
    assert_eq!(seal(SECRET, end), whole, "what is forged here is made as the service makes it");
    vec![
        seal("another secret", end),
        seal(SECRET, end - 12 * 3_600 - 1),
        seal(SECRET, i64::MIN),
        seal(SECRET, i64::MAX),
    ]
}

#[tokio::test]
async fn a_login_sees_its_own_tenant_alone_and_ends() {
    let place = place().await;
    let (own, other) = (key(&place, "own").await, key(&place, "other").await);
    let client = reqwest::Client::builder().pool_max_idle_per_host(0).no_proxy().build().unwrap();
    let made = client.post(format!("{}/v1/sessions", place.server.base)).bearer_auth(&other);
    let made = made.header("content-type", "application/json").body(json!({"title": "Another's"}).to_string());
    let made: serde_json::Value = serde_json::from_str(&made.send().await.unwrap().text().await.unwrap()).unwrap();
    let path = format!("/ui/sessions/{}", made["id"].as_str().unwrap());
    let (own, other) =
        (Visitor::with_key(&place.server.base, &own).await, Visitor::with_key(&place.server.base, &other).await);
    assert_eq!((own.get(&path).await.status, other.get(&path).await.status), (404, 200));
    let (mine, theirs) = (own.get("/ui/sessions").await.page(), other.get("/ui/sessions").await.page());
    assert!(!mine.contains("Another") && theirs.contains("Another"), "{mine}");
    let keys = own.get("/ui/keys").await.page();
    assert_eq!(keys.matches("scope=\"row\"").count(), 1, "its own key");

    let left = own.press(&keys, "/ui/logout").await;
    assert_eq!(left.leads_to(), "/ui/login");
    assert!(left.header("set-cookie").contains("Max-Age=0"));
}

#[tokio::test]
async fn a_copy_of_a_cookie_ends_with_its_login_at_every_process() {
    let place = place().await;
    let key = key(&place, "own").await;
    let leaving = Visitor::with_key(&place.server.base, &key).await;
    let staying = Visitor::with_key(&place.server.base, &key).await;
    let other = Keyed::start(&place.database, &[], &[("CONTEXTD_UI_SECRET", SECRET)]);
    let mut copied = Visitor::of(&other.base);
    copied.cookie = leaving.cookie.clone();
    copied.get("/ui").await.page();
    let page = leaving.get("/ui").await.page();
    leaving.press(&page, "/ui/logout").await;
    for copy in [&leaving, &copied] {
        assert!(copy.get("/ui").await.leads_to().starts_with("/ui/login"));
    }
    staying.get("/ui").await.page();
    Visitor::with_key(&place.server.base, &key).await.get("/ui").await.page();
}

/// Wrong keys from one address shut out nobody at another address: neither another tenant's people nor those of the tenant
/// that the keys name.
#[tokio::test]
async fn wrong_keys_shut_nobody_else_out() {
    let place = Place::with(&[], &[("CONTEXTD_TRUSTED_PROXIES", "10.1.0.0/16, 127.0.0.1")]).await;
    let (one, other) = (key(&place, "one").await, key(&place, "other").await);
    let visitor = Visitor::of(&place.server.base);
    let try_from = async |address: &str, key: &str| {
        let headers = [("origin", place.server.base.as_str()), ("x-forwarded-for", address)];
        visitor.send(Method::POST, "/ui/login", &headers, &[("key", key)]).await.status
    };
    // At once, so that none of them is forgotten meanwhile.
    let all = futures::future::join_all((0..60).map(|n| {
        let key = crate::app::made_up_key(&one, n);
        async move { try_from("203.0.113.1", &key).await }
    }));
    let statuses = all.await;
    assert!(statuses.contains(&401) && statuses.contains(&429), "{statuses:?}");
    assert_eq!(try_from("203.0.113.2", &other).await, 303, "another tenant, from elsewhere");
    assert_eq!(try_from("203.0.113.4", &one).await, 303, "the tenant whose keys were tried, from elsewhere");
    let made_up = "203.0.113.1, 203.0.113.3";
    assert_eq!(try_from(made_up, &other).await, 303, "what stands in front may be made up");
}

#[tokio::test]
async fn wrong_keys_are_not_tried_without_end() {
    let place = place().await;
    let visitor = Visitor::of(&place.server.base);
    let all = futures::future::join_all((0..60).map(|_| visitor.log_in("ctxd_wrong"))).await;
    let statuses: Vec<u16> = all.iter().map(|seen| seen.status).collect();
    assert!(statuses.contains(&401) && statuses.contains(&429), "{statuses:?}");
    for refused in all.iter().filter(|seen| seen.status == 429) {
        assert_eq!(refused.header("retry-after"), "1", "when the next one may be tried");
    }
    let away = visitor.send(Method::POST, "/ui/login", &[("origin", "https://evil.example")], &[("key", "x")]).await;
    assert_eq!(away.status, 403);
}

#[tokio::test]
async fn without_keys_there_is_no_login() {
    let app = App::shared();
    let visitor = Visitor::of(&app.url(""));
    assert_eq!(visitor.get("/ui/login?next=/ui/keys").await.leads_to(), "/ui/keys");
    let page = visitor.get("/ui").await.page();
    assert!(!page.contains("/ui/logout"));
    visitor.assert_links(&page).await;
    let rebound = visitor.send(Method::GET, "/ui", &[("host", "evil.example")], &[]).await;
    assert_eq!(rebound.status, 403);
    assert_eq!(visitor.get("/ui/").await.status, 308);
}
