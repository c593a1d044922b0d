//! What the login's cookie may be sent over: `Secure` where the browser came by TLS, which its `Origin` says.

use contextd::service::Services;
use contextd::service::core::state::Options;
use reqwest::Method;
use sqlx::PgPool;

use super::Visitor;
use crate::app::Keyed;
use crate::pg;

#[tokio::test]
async fn the_cookie_of_a_login_by_tls_stays_with_tls() {
    let database = pg::url().await;
    let services = Services::new(PgPool::connect(&database).await.unwrap(), Options::default());
    let key = services.keys.create("own", "k").await.unwrap();
    let server = Keyed::start(&database, &[], &[]);
    let visitor = Visitor::of(&server.base);
    let address = server.base.strip_prefix("http://").unwrap();
    let (plain, by_tls) = (format!("http://{address}"), format!("https://{address}"));
    let proxied = "https://contextd.example";
    for (headers, is_secure) in [
        // As a browser says it; behind a proxy that ends TLS and hands `Host` and `Origin` on as they came.
        (&[("origin", plain.as_str())][..], false),
        (&[("origin", by_tls.as_str())], true),
        (&[("origin", proxied), ("host", "contextd.example")], true),
        // A proxy that puts its own `Host` there, one that drops `Origin`, and a header that anybody can send.
        (&[("origin", proxied), ("sec-fetch-site", "same-origin")], true),
        (&[("sec-fetch-site", "same-origin")], false),
        (&[("origin", plain.as_str()), ("x-forwarded-proto", "https")], false),
    ] {
        let seen = visitor.send(Method::POST, "/ui/login", headers, &[("key", &key)]).await;
        assert_eq!(seen.leads_to(), "/ui", "{headers:?}");
        let cookie = seen.header("set-cookie");
        assert_eq!(cookie.split("; ").any(|part| part == "Secure"), is_secure, "{headers:?}: {cookie}");
        for part in ["HttpOnly", "SameSite=Strict", "Path=/ui"] {
            assert!(cookie.split("; ").any(|own| own == part), "{cookie}");
        }
    }
    let elsewhere = [("origin", proxied), ("host", "inside:8080")];
    let refused = visitor.send(Method::POST, "/ui/login", &elsewhere, &[("key", &key)]).await;
    assert_eq!(refused.status, 403, "nothing says that a page of ours asked");
}
