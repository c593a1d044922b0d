//! Tokens on a session's page: its parts say the same of the same message.

use serde_json::json;

use super::Visitor;
use crate::app::App;
use crate::drill_support::{by_hand, compact, filled, id_of, snapshot, turns};

/// The exact figures behind a word of a page, each in the title of what is shown.
fn figures(page: &str, word: &str) -> Vec<u64> {
    let after = page.split(word).skip(1);
    after.map(|rest| super::value(rest, "title=\"").replace(',', "").parse().unwrap()).collect()
}

#[tokio::test]
async fn what_fills_a_window_and_what_the_model_sees_are_measured_alike() {
    let app = App::fresh(&[]);
    let session = filled(&app, by_hand(), 30).await;
    let home = format!("/ui/sessions/{}", id_of(&session));
    let visitor = Visitor::of(&app.url(""));
    let estimated = snapshot(&app, &session).await;
    assert_eq!((&estimated["source"], &estimated["calibration"]), (&json!("estimate"), &json!(1.0)));
    for part in ["composition", "view"] {
        let page = visitor.get(&format!("{home}/{part}")).await.page();
        assert!(page.contains("Tokens are estimated, by the provider"), "{part}: {page}");
    }

    // The provider counts a third less.
    let reported = estimated["tokens"].as_u64().unwrap() * 2 / 3;
    let body = json!({"format": "openai_chat", "items": [{"role": "assistant", "content": "Noted."}],
        "usage": {"prompt_tokens": reported, "completion_tokens": 4}});
    app.post(&format!("{session}/entries"), body).await.expect(201);
    let told = snapshot(&app, &session).await;
    assert_eq!((&told["source"], &told["tokens"]), (&json!("usage"), &json!(reported + 4)));
    let (mut seen, mut after) = (0, 0);
    loop {
        let page = visitor.get(&format!("{home}/view?after={after}")).await.page();
        assert!(page.contains("brought to the total that the provider reported"), "{page:.2000}");
        let own = figures(&page, "<span class=\"dim\"><span class=\"num\" ");
        seen += own.iter().sum::<u64>();
        after += own.len();
        if !page.contains("Later") {
            break;
        }
    }
    // Each of 121 messages is rounded down; there is no system prompt and there are no tools.
    assert!((reported + 4 - 121..=reported + 4).contains(&seen), "{seen} of {reported}");
    let page = visitor.get(&format!("{home}/composition")).await.page();
    assert!(page.contains("brought to the total that the provider reported"), "{page:.2000}");

    // What was learnt stays when the report is stale.
    compact(&app, &session, json!({"strategy": "summarize"})).await;
    app.append(&session, "openai_chat", json!(turns(30..50, 120))).await;
    let now = snapshot(&app, &session).await;
    assert!(now["source"] == "estimate" && now["calibration"].as_f64().unwrap() < 0.7, "{now}");
    let composition = visitor.get(&format!("{home}/composition")).await.page();
    let view = visitor.get(&format!("{home}/view")).await.page();
    let of_composition = figures(&composition, "<th scope=\"row\">Summary</th>");
    let of_view = figures(&view, ">summary</a>");
    assert_eq!((of_composition.len(), &of_composition), (1, &of_view), "{now}");
}
