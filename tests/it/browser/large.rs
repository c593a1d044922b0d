//! A message of millions of characters in a browser: pages stay small, and all of it can be had.

use fantoccini::Locator;
use reqwest::Method;
use serde_json::{Value, json};

use super::Browser;
use super::stage::Stage;

const CHARACTERS: usize = 5_000_000;
/// What the browser read of the page: its own bytes, and the characters that it shows.
const READ: &str =
    "return [performance.getEntriesByType('navigation')[0].decodedBodySize, document.body.innerText.length]";
const MOST_BYTES: u64 = 120_000;

async fn assert_small(browser: &Browser, what: &str) {
    let read = browser.run(READ).await;
    let (bytes, shown) = (read[0].as_u64().unwrap(), read[1].as_u64().unwrap());
    println!("{what}: {bytes} bytes, {shown} characters");
    assert!((1..MOST_BYTES).contains(&bytes) && shown < MOST_BYTES, "{what}: {read}");
    let wide = "return document.documentElement.scrollWidth > document.documentElement.clientWidth";
    assert_eq!(browser.run(wide).await, Value::Bool(false), "{what} is not wider than the window");
}

async fn follow(browser: &Browser, words: &str) {
    let link = browser.client.find(Locator::XPath(&format!("//main//a[contains(., '{words}')]"))).await.unwrap();
    link.click().await.unwrap();
    browser.until("ready", "return document.readyState === 'complete'").await;
}

#[tokio::test]
#[ignore = "needs CONTEXTD_CHROMEDRIVER: a browser"]
async fn a_line_of_five_megabytes_is_shown_in_part_and_can_be_had_whole() {
    let stage = Stage::empty().await;
    let about = json!({"settings": {"enabled": false, "context_window": 4_000_000}, "title": "Large"});
    let session = stage.session(about, 1).await;
    let text = format!("begins {}ends", "x".repeat(CHARACTERS - 11));
    let call = json!({"id": "large", "type": "function", "function": {"name": "read", "arguments": "{}"}});
    let items = json!([
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "large", "content": text},
        {"role": "user", "content": text},
    ]);
    let appended = json!({"format": "openai_chat", "items": items});
    let appended = stage.send(Method::POST, &format!("/v1/sessions/{session}/entries"), appended).await;
    let home = stage.url(&format!("/ui/sessions/{session}"));
    let browser = Browser::start().await;

    // A page of the view ends before what would make it larger than a megabyte: each of the two has one of its own.
    let one = "return [...document.querySelectorAll('.message .more a')].map((link) => link.innerText).join()";
    for after in [5, 6] {
        browser.client.goto(&format!("{home}/view?after={after}")).await.unwrap();
        assert_small(&browser, "the view").await;
        assert_eq!(browser.run(one).await, "4,999,300 more characters");
    }
    browser.client.goto(&home).await.unwrap();
    browser.run("document.getElementById('view').scrollIntoView()").await;
    let pages = ["document.querySelector('#view .pager')", "document.querySelector('#view .message .more a')"];
    // Its links are htmx's own from when it has settled on.
    let settled = format!("return {} !== null && !document.querySelector('[class*=htmx-]')", pages[0]);
    browser.until("the view is there", &settled).await;
    browser.run("[...document.querySelectorAll('#view .pager a')].find((link) => link.innerText.startsWith('Later')).click()").await;
    browser.until("the large one is there", &format!("return {} !== null", pages[1])).await;
    assert_small(&browser, "the session's page").await;
    browser.client.goto(&format!("{home}/entries")).await.unwrap();
    assert_small(&browser, "the list of entries").await;

    for entry in &appended["entries"].as_array().unwrap()[1..] {
        let path = format!("{home}/entries/{}", entry["id"].as_str().unwrap());
        browser.client.goto(&path).await.unwrap();
        assert_small(&browser, "an entry").await;
        assert_eq!(
            browser.run("return document.querySelector('pre.text').innerText.startsWith('begins xxx')").await,
            true
        );
        follow(&browser, "4,980,000 more characters").await;
        assert_small(&browser, "its second part").await;
        assert!(browser.run("return location.search").await.as_str().unwrap().contains("from=20000"));
        browser.client.goto(&format!("{path}?piece=0&from=4990000")).await.unwrap();
        assert_small(&browser, "its last part").await;
        assert_eq!(browser.run("return document.querySelector('pre.text').innerText.endsWith('xends')").await, true);
        follow(&browser, "The whole entry").await;

        // All of it at once is a file, not a page.
        let file = browser.client.find(Locator::Css("a[download]")).await.unwrap();
        assert!(
            file.text().await.unwrap().starts_with("The whole as a file, 5,000,0"),
            "{}",
            file.text().await.unwrap()
        );
        let file = file.attr("href").await.unwrap().unwrap();
        let answer = reqwest::Client::builder().no_proxy().build().unwrap().get(stage.url(&file)).send().await.unwrap();
        assert_eq!(
            (answer.status().as_u16(), &answer.headers()["content-type"]),
            (200, &"application/json".parse().unwrap())
        );
        assert!(answer.headers()["content-disposition"].to_str().unwrap().starts_with("attachment; filename=\"entry-"));
        assert_eq!(answer.headers()["x-content-type-options"], "nosniff");
        let item: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        assert_eq!(item["content"], text.as_str(), "as it came");
    }
    browser.quit().await;
}
