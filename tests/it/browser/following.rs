//! Event streams of open pages, by the browser's own `EventSource`: where there are too many, and when the session is gone.

use serde_json::json;

use super::Browser;
use super::stage::Stage;

impl Stage {
    /// How often a session's events were answered with this status.
    async fn answered(&self, status: &str) -> usize {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let text = client.get(self.url("/metrics")).send().await.unwrap().text().await.unwrap();
        let of = |line: &&str| {
            line.starts_with("contextd_http_requests_total{")
                && line.contains("route=\"/ui/sessions/{id}/events\"")
                && line.contains(&format!("status=\"{status}\""))
        };
        text.lines().filter(of).map(|line| line.rsplit(' ').next().unwrap().parse::<usize>().unwrap()).sum()
    }

    async fn erase(&self, session: &str) {
        let path = self.url(&format!("/v1/sessions/{session}"));
        let erased = reqwest::Client::builder().no_proxy().build().unwrap().delete(path).send().await.unwrap();
        assert_eq!(erased.status(), 204);
    }
}

#[tokio::test]
#[ignore = "needs CONTEXTD_CHROMEDRIVER: a browser"]
async fn a_browser_asks_no_more_for_the_events_of_an_erased_session() {
    let stage = Stage::empty().await;
    let session = stage.session(json!({"title": "Soon gone"}), 2).await;
    let browser = Browser::start().await;
    // On another page, so that no script of ours has a hand in it: what is left is what browsers do by themselves.
    browser.open(&stage.url("/ui/sessions"), "light").await;
    let follow = format!(
        "window.seen = {{opened: 0, errors: 0}};
        window.stream = new EventSource('/ui/sessions/{session}/events');
        stream.onopen = () => seen.opened += 1;
        stream.onerror = () => seen.errors += 1;"
    );
    browser.run(&follow).await;
    browser.until("it follows", "return seen.opened === 1 && stream.readyState === EventSource.OPEN").await;
    stage.erase(&session).await;
    // The stream ends, which a browser takes for a fault of the network; asked once more, it is told that nothing is there.
    browser.until("it has given up", "return stream.readyState === EventSource.CLOSED").await;
    assert_eq!(browser.run("return [seen.opened, seen.errors]").await, json!([1, 2]));
    assert_eq!(stage.answered("404").await, 1, "asked once, and a stream that is closed is not opened again");
    browser.quit().await;
}

#[tokio::test]
#[ignore = "needs CONTEXTD_CHROMEDRIVER: a browser"]
async fn a_page_that_may_not_follow_says_so_until_it_may() {
    let stage = Stage::with(&[("CONTEXTD_EVENTS_MAX_STREAMS", "1")]).await;
    let session = stage.session(json!({"title": "Watched"}), 2).await;
    let events = stage.url(&format!("/ui/sessions/{session}/events"));
    let taken = reqwest::Client::builder().no_proxy().build().unwrap().get(events).send().await.unwrap();
    assert_eq!(taken.status(), 200);
    let browser = Browser::start().await;
    browser.open(&stage.url(&format!("/ui/sessions/{session}")), "light").await;
    let told = "const told = document.getElementById('unfollowed'); return !told.hidden && told.innerText.includes('too many pages are open')";
    browser.until("it is told", told).await;
    assert!(stage.answered("429").await >= 1);
    browser.picture("unfollowed-light.png").await;
    drop(taken);
    browser.until("it follows again", "return document.getElementById('unfollowed').hidden").await;
    stage.erase(&session).await;
    browser.until("the page says so", "return !document.getElementById('gone').hidden").await;
    browser.quit().await;
}
