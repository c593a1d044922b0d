//! A session that somebody has worked with for a day.

use reqwest::Method;
use serde_json::{Value, json};

use super::stage::Stage;
use crate::drill_support::turns;

/// A session with a history: turns, compactions, a chapter mark of its own, a branch, a label.
pub struct Worked {
    pub stage: Stage,
    pub session: String,
    pub compaction: String,
}

impl Worked {
    pub async fn set() -> Worked {
        let stage = Stage::empty().await;
        let settings = json!({"enabled": false, "context_window": 32_000, "reserve_tokens": 4_000, "keep_recent_tokens": 2_500,
            "keep_recent_results": 2});
        let about = json!({"title": "Rename the billing importer's modules", "external_id": "job-3117", "model": "claude-sonnet-4-5",
            "settings": settings, "system": "You are a careful engineer. ".repeat(60)});
        let session = stage.session(about, 22).await;
        let api = format!("/v1/sessions/{session}");
        let more = async |from: usize, to: usize| {
            let body = json!({"format": "openai_chat", "items": turns(from..to, 120)});
            stage.send(Method::POST, &format!("{api}/entries"), body).await
        };
        let compact = async |strategy: &str| {
            let body = json!({"strategy": strategy, "wait": 60, "force": true});
            stage.send(Method::POST, &format!("{api}/compact"), body).await
        };
        compact("summarize").await;
        more(22, 40).await;
        compact("mask").await;
        let fork = more(40, 48).await["entries"][3]["id"].clone();
        let compaction = compact("summarize").await["id"].as_str().unwrap().to_owned();
        more(48, 52).await;
        if fork.is_string() {
            stage.send(Method::POST, &format!("{api}/navigate"), json!({"target_id": fork})).await;
            more(52, 56).await;
        }
        compact("mask").await;
        // Something new, for there to be something to compact.
        more(56, 72).await;
        let leaf = stage.send(Method::GET, &api, Value::Null).await["leaf_id"].as_str().unwrap().to_owned();
        let label = json!({"label": "before the tax change"});
        stage.send(Method::PUT, &format!("{api}/entries/{leaf}/label"), label).await;
        stage.age().await;
        Worked { stage, session, compaction }
    }

    pub fn page(&self) -> String {
        self.stage.url(&format!("/ui/sessions/{}", self.session))
    }
}

impl Stage {
    /// As if it had been a day of work.
    async fn age(&self) {
        for statement in [
            "UPDATE entries e SET created_at = now() - interval '1 minute' * (3 * (m.last - e.seq))
             FROM (SELECT session_id, max(seq) AS last FROM entries GROUP BY session_id) m WHERE m.session_id = e.session_id",
            "UPDATE compactions c SET created_at = e.created_at - interval '7 seconds',
                started_at = e.created_at - interval '6 seconds', finished_at = e.created_at
             FROM entries e WHERE e.session_id = c.session_id AND c.result LIKE '{\"entry_id\":\"' || e.id || '%'",
        ] {
            sqlx::query(statement).execute(&self.pool).await.unwrap();
        }
    }
}
