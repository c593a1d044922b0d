//! Numbers of a long path: looked up in what came since the last mark, not counted from the first entry on.

use std::time::{Duration, Instant};

use contextd::domain::model::strategy::Strategy;
use contextd::service::compaction::{CompactRequest, Status};
use contextd::service::core::access::Access;
use contextd::service::recall::tool_calls::RecalledItem;
use serde_json::{Value, json};

use super::{read_tool_result, recall, refusal};
use crate::app::App;
use crate::drill_support::{by_hand, compact};
use crate::long_reads::{fetched, through_one_connection};
use crate::service_support::Stage;

const ENTRIES: usize = 12_000;
/// Entries of a turn: a request, an answer, and calls in every other one of the rest.
const TURN: usize = 40;
const CALLS: usize = (TURN - 2) / 2;

fn asked(turn: usize) -> String {
    format!("Task {turn}: look through the files of part {turn} and tell what is wrong there.")
}

fn item(n: usize) -> Value {
    let (turn, at) = (n / TURN, n % TURN);
    let id = |at: usize| format!("call_{turn}_{}", (at - 1) / 2);
    match at {
        0 => json!({"role": "user", "content": asked(turn)}),
        _ if at == TURN - 1 => json!({"role": "assistant", "content": format!("Part {turn} is in order.")}),
        _ if at % 2 == 1 => {
            json!({"role": "assistant", "content": null, "tool_calls": [{"id": id(at), "type": "function",
            "function": {"name": "read", "arguments": json!({"path": format!("src/{}.rs", n % 300)}).to_string()}}]})
        }
        _ => json!({"role": "tool", "tool_call_id": id(at), "content": format!("{n} lines")}),
    }
}

fn items(range: std::ops::Range<usize>) -> Vec<Value> {
    range.map(item).collect()
}

/// The id of the n-th call.
fn call_id(number: usize) -> String {
    format!("call_{}_{}", (number - 1) / CALLS, (number - 1) % CALLS)
}

/// Numbers from everywhere: of what is told, of what no record reads again, and of what is shown as it is.
fn calls() -> Vec<usize> {
    let all = ENTRIES / TURN * CALLS;
    vec![1, 2, 19, 20, 64, 65, 66, 700, 2_850, 2_851, 4_000, 5_000, all - 200, all - 1, all]
}

fn users() -> Vec<usize> {
    let all = ENTRIES / TURN;
    vec![1, 2, 3, 30, 31, 150, 151, 200, all - 10, all - 1, all]
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_of_twelve_thousand_entries_lead_back() {
    let app = App::shared();
    let session = app.session(json!({"settings": by_hand()})).await;
    for from in (0..ENTRIES).step_by(1_000) {
        app.append(&session, "openai_chat", json!(items(from..from + 1_000))).await;
    }
    let check = async |calls: Vec<usize>, users: Vec<usize>| {
        let begin = Instant::now();
        for number in &calls {
            let found = recall(app, &session, &format!("#{number}")).await;
            assert_eq!(found["tool_call_id"], call_id(*number), "#{number}");
        }
        for number in &users {
            assert_eq!(recall(app, &session, &format!("u{number}")).await["text"], asked(number - 1), "u{number}");
        }
        begin.elapsed() / (calls.len() + users.len()) as u32
    };
    let without = check(calls(), users()).await;
    let mut told = format!("{ENTRIES} entries: {without:.1?} a number without a compaction");
    let mut end = ENTRIES;
    for round in 1..=2 {
        let done = compact(app, &session, json!({"strategy": "summarize", "force": true})).await;
        assert_eq!(done["status"], "succeeded", "{done}");
        let each = check(calls(), users()).await;
        told.push_str(&format!(", {each:.1?} with {round}"));
        // On a busy machine too.
        assert!(each < Duration::from_secs(2), "{told}");
        app.append(&session, "openai_chat", json!(items(end..end + 5 * TURN))).await;
        end += 5 * TURN;
    }
    println!("{told}");
    let (all_calls, all_users) = (end / TURN * CALLS, end / TURN);
    check(vec![all_calls - 1, all_calls], vec![all_users - 1, all_users]).await;
    assert_eq!(read_tool_result(app, &session, "#2851").await, (format!("{} lines", 150 * TURN + 2), false));
    assert_eq!(read_tool_result(app, &session, "u151").await, (asked(150), false));
    let told = refusal(app, &session, "#99999").await;
    assert_eq!(told, format!("#99999 not found: calls are numbered 1 to {all_calls} here"));
    let told = refusal(app, &session, "u99999").await;
    assert_eq!(told, format!("u99999 not found: the user's messages are numbered 1 to {all_users} here"));
}

#[tokio::test]
async fn a_number_costs_what_lies_behind_the_last_mark() {
    let stage = Stage::set(by_hand()).await;
    for from in (0..ENTRIES).step_by(1_000) {
        stage.append(items(from..from + 1_000)).await;
    }
    for round in 0..2 {
        let request = CompactRequest { strategy: Some(Strategy::Summarize), force: true, ..CompactRequest::default() };
        assert_eq!(stage.compact(request).await.status, Status::Succeeded);
        let end = ENTRIES + round * 5 * TURN;
        stage.append(items(end..end + 5 * TURN)).await;
    }
    let fork = stage.service.fork_session(stage.tenant, stage.session, None).await.unwrap().id;
    let stage = through_one_connection(stage).await;
    let queries = stage.service.queries();
    for session in [stage.session, fork] {
        let (mut of_call, mut of_user) = (0, 0);
        for number in calls() {
            let begin = fetched(&stage.pool).await;
            let found = queries.recalled(Access::whole(stage.tenant), session, &format!("#{number}")).await.unwrap();
            of_call = of_call.max(fetched(&stage.pool).await - begin);
            assert!(matches!(found, RecalledItem::Call(call) if call.tool_call_id == call_id(number)), "#{number}");
        }
        for number in users() {
            let begin = fetched(&stage.pool).await;
            let found = queries.recalled(Access::whole(stage.tenant), session, &format!("u{number}")).await.unwrap();
            of_user = of_user.max(fetched(&stage.pool).await - begin);
            assert!(matches!(found, RecalledItem::Message(said) if said.text == asked(number - 1)), "u{number}");
        }
        println!("of {ENTRIES} entries at most {of_call} rows for a call, {of_user} for a message");
        assert!(of_call < 500 && of_user < 500, "{of_call} {of_user}");
    }
    let nowhere = queries.recalled(Access::whole(stage.tenant), stage.session, "u9999").await.unwrap_err();
    let all = ENTRIES / TURN + 10;
    assert!(nowhere.to_string().ends_with(&format!("numbered 1 to {all} here")), "{nowhere}");
}
