//! How often a key may ask.

use serde_json::json;

use super::Place;
use crate::patience::eventually;

#[tokio::test]
async fn more_requests_than_a_key_may_make_are_told_when_to_come_back() {
    let place = Place::new().await;
    let master = place.master().await;
    let asked = json!({"name": "slow", "limits": {"requests_per_minute": 2}});
    let slow = place.post(&master, "/v1/keys", asked).await.expect(201);
    let key = slow["key"].as_str().unwrap();
    for _ in 0..2 {
        place.get(key, "/v1/sessions").await.expect(200);
    }
    let refused = eventually("there are too many", async || {
        let answer = place.get(key, "/v1/sessions").await;
        (answer.status == 429).then_some(answer)
    })
    .await;
    refused.refused(429, "rate_limited");
    let wait: u64 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=30).contains(&wait) && refused.body["limit"] == 2, "{wait}: {}", refused.body);
    place.get(&master, "/v1/sessions").await.expect(200);
    // What is refused for want of a scope counts too.
    let asked = json!({"name": "curious", "scopes": ["read"], "limits": {"requests_per_minute": 1}});
    let curious = place.post(&master, "/v1/keys", asked).await.expect(201);
    eventually("it is stopped", async || {
        let answer = place.post(curious["key"].as_str().unwrap(), "/v1/sessions", json!({})).await;
        (answer.status == 429).then_some(())
    })
    .await;
}
