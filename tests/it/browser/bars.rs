//! The bars of the overview's charts, by the pixels of their canvas.

use reqwest::Method;
use serde_json::json;

use super::Browser;
use super::stage::Stage;

/// Of each chart: the last figure of its lowest series, and of the newest bar's place the share of columns that are of its
/// color at the bottom; then the same of all places before.
const NEWEST: &str = "
    const probe = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const rgb = (color) => { probe.fillStyle = color; probe.fillRect(0, 0, 1, 1); return probe.getImageData(0, 0, 1, 1).data; };
    return [...document.querySelectorAll('[data-chart]')].map((chart) => {
        const asked = JSON.parse(chart.dataset.chart);
        const series = asked.series[0];
        const canvas = chart.querySelector('canvas');
        const [whole, over] = [canvas.getBoundingClientRect(), chart.querySelector('.u-over').getBoundingClientRect()];
        const scale = canvas.width / whole.width;
        const [left, right] = [over.left - whole.left, over.right - whole.left].map((x) => Math.round(x * scale));
        const bottom = Math.round((over.bottom - whole.top - 4) * scale);
        const pixels = canvas.getContext('2d').getImageData(left, bottom, right - left, 1).data;
        const wanted = rgb(getComputedStyle(document.documentElement).getPropertyValue(`--${series.color}`).trim());
        const drawn = Array.from({length: right - left}, (_, x) => [0, 1, 2].every((part) => Math.abs(pixels[4 * x + part] - wanted[part]) < 4));
        const place = Math.round((right - left) / asked.x.length);
        const share = (columns) => columns.filter((is) => is).length / place;
        return [series.values.at(-1), share(drawn.slice(-place)), share(drawn.slice(0, -place))];
    });";

#[tokio::test]
#[ignore = "needs CONTEXTD_CHROMEDRIVER: a browser"]
async fn the_newest_bar_is_drawn_whole() {
    let stage = Stage::empty().await;
    let browser = Browser::start().await;
    let settings =
        json!({"enabled": false, "context_window": 24_000, "reserve_tokens": 3_000, "keep_recent_tokens": 1_500});
    for theme in ["light", "dark"] {
        let newest = loop {
            // In the bar of now; where the hour ends between this and the page, once more.
            sqlx::query("DELETE FROM compactions").execute(&stage.pool).await.unwrap();
            let session = stage.session(json!({"settings": settings}), 30).await;
            let body = json!({"strategy": "truncate", "wait": 60, "force": true});
            stage.send(Method::POST, &format!("/v1/sessions/{session}/compact"), body).await;
            browser.open(&stage.url("/ui"), theme).await;
            browser.until("drawn", "return document.querySelectorAll('.chart canvas').length === 2").await;
            let newest = browser.run(NEWEST).await;
            if newest.as_array().unwrap().iter().all(|chart| chart[0].as_i64().unwrap() > 0) {
                break newest;
            }
        };
        for chart in newest.as_array().unwrap() {
            let (newest, before) = (chart[1].as_f64().unwrap(), chart[2].as_f64().unwrap());
            // A bar is as wide as 0.72 of its place.
            assert!((0.55..0.9).contains(&newest), "{theme}: {chart}");
            assert!(before < 0.15, "{theme}: nothing ended before, {chart}");
        }
    }
    browser.quit().await;
}
