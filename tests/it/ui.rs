//! The pages at `/ui`, as a browser without a script sees them.

mod cookie;
mod forms;
mod keys;
mod lists;
mod login;
mod open_pages;
mod prompts;
mod tokens;

use std::collections::BTreeSet;

use reqwest::header::{COOKIE, HeaderMap, LOCATION, SET_COOKIE};
use reqwest::{Client, Method};

/// What a browser keeps: where it is, and a cookie.
pub struct Visitor {
    base: String,
    client: Client,
    pub cookie: Option<String>,
}

/// An answer to a [`Visitor`].
pub struct Seen {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
}

impl Seen {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    #[track_caller]
    pub fn page(self) -> String {
        assert_eq!(self.status, 200, "{}", self.text);
        self.assert_guarded();
        assert_eq!(self.text.matches("<h1").count(), 1, "one heading of the first order");
        self.text
    }

    /// Where a form or a login leads to.
    #[track_caller]
    pub fn leads_to(&self) -> &str {
        assert_eq!(self.status, 303, "{}", self.text);
        self.headers[LOCATION].to_str().unwrap()
    }

    /// The headers that every page has, whatever it says.
    #[track_caller]
    pub fn assert_guarded(&self) {
        let policy = self.header("content-security-policy");
        for part in ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"] {
            assert!(policy.contains(part), "{policy:?}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!((self.header("x-content-type-options"), self.header("cache-control")), ("nosniff", "no-store"));
        for inline in ["<script>", "<style", " style=\"", " onclick=", "javascript:"] {
            assert!(!self.text.contains(inline), "{inline}");
        }
    }
}

impl Visitor {
    pub fn of(base: &str) -> Visitor {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().pool_max_idle_per_host(0).no_proxy().redirect(reqwest::redirect::Policy::none());
        Visitor { base: base.to_owned(), client: client.build().unwrap(), cookie: None }
    }

    /// Logged in with a key.
    pub async fn with_key(base: &str, key: &str) -> Visitor {
        let mut visitor = Visitor::of(base);
        let seen = visitor.log_in(key).await;
        assert_eq!(seen.leads_to(), "/ui");
        visitor.keep(&seen);
        visitor
    }

    pub async fn log_in(&self, key: &str) -> Seen {
        self.send(Method::POST, "/ui/login", &[("origin", &self.base)], &[("key", key)]).await
    }

    /// Keeps the cookie of an answer.
    pub fn keep(&mut self, seen: &Seen) {
        let cookie = seen.headers[SET_COOKIE].to_str().unwrap();
        self.cookie = Some(cookie.split(';').next().unwrap().to_owned());
    }

    pub async fn send(&self, method: Method, path: &str, headers: &[(&str, &str)], form: &[(&str, &str)]) -> Seen {
        let mut request = self.client.request(method.clone(), format!("{}{path}", self.base));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(cookie) = &self.cookie {
            request = request.header(COOKIE, cookie);
        }
        if method == Method::POST {
            let body: String = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
            request = request.header("content-type", "application/x-www-form-urlencoded").body(body);
        }
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Seen { status, headers, text: response.text().await.unwrap() }
    }

    pub async fn get(&self, path: &str) -> Seen {
        self.send(Method::GET, path, &[], &[]).await
    }

    /// Presses the button of a page's form with this action.
    pub async fn press(&self, page: &str, action: &str) -> Seen {
        let form = page.split("<form").find(|form| form.contains(&format!("action=\"{action}")));
        let form = form.unwrap_or_else(|| panic!("no form for {action}"));
        let action = unescaped(value(form, "action=\""));
        let token = value(form, "name=\"csrf\" value=\"");
        self.send(Method::POST, &action, &[("origin", &self.base)], &[("csrf", token)]).await
    }

    /// Follows every link of a page: each is answered.
    pub async fn assert_links(&self, page: &str) -> usize {
        let links: BTreeSet<String> = page
            .split(" href=\"")
            .chain(page.split(" src=\""))
            .chain(page.split(" hx-get=\""))
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
            .filter(|link| link.starts_with("/ui"))
            .map(unescaped)
            .collect();
        for link in &links {
            let seen = self.get(link).await;
            assert!(seen.status < 400, "{link}: {}", seen.status);
        }
        links.len()
    }
}

fn value<'a>(text: &'a str, before: &str) -> &'a str {
    text.split_once(before).unwrap().1.split('"').next().unwrap()
}

fn unescaped(text: &str) -> String {
    text.replace("&amp;", "&")
}
