//! Where system messages among the others go.

use serde_json::{Value, json};

use super::*;

#[test]
fn a_directive_goes_to_the_next_place_that_takes_one() {
    let (user, answer) = (json!({"role": "user", "content": "go"}), json!({"role": "assistant", "content": "well"}));
    let tool = |kind: &str, name: &str| json!({"type": kind, "tool": {"name": name}});
    let system = |content: Value| json!({"role": "system", "content": content});
    let added = system(json!([tool("tool_addition", "x")]));
    let told = system(json!([{"type": "text", "text": "Use less."}, tool("tool_removal", "y")]));
    let mut changed = added.clone();
    changed["output_config"] = json!({"effort": "low"});
    let mut again = told.clone();
    again["output_config"] = json!({"effort": "high"});
    let order = |items: &[&Value]| {
        let pieces: Vec<Piece<'_>> = items.iter().map(|item| piece(message((*item).clone()))).collect();
        written(&pieces)
    };
    for directive in [&added, &told, &changed] {
        for (given, expected) in [
            (vec![&user, directive, &user, &answer], vec![&user, &user, directive, &answer]),
            (vec![&user, directive, &user], vec![&user, &user, directive]),
            (
                vec![&user, directive, &user, &user, &answer, &user],
                vec![&user, &user, &user, directive, &answer, &user],
            ),
            (vec![&user, &answer, directive, &user, &answer], vec![&user, &answer, &user, directive, &answer]),
            (vec![directive, &user, &answer], vec![&user, directive, &answer]),
        ] {
            let (messages, notes) = order(&given);
            assert_eq!(messages.iter().collect::<Vec<_>>(), expected);
            assert_eq!(notes, ["item_repaired"]);
            let others: Vec<Value> =
                messages.into_iter().filter(|message| message["output_config"].is_null()).collect();
            assert_eq!(violations(&others), Vec::<String>::new());
        }
    }
    let (messages, notes) = order(&[&user, &changed, &user, &again, &answer]);
    let joined = json!({"role": "system", "output_config": {"effort": "high"}, "content": [
        tool("tool_addition", "x"), {"type": "text", "text": "Use less."}, tool("tool_removal", "y")]});
    assert_eq!(messages, [user.clone(), user.clone(), joined, answer.clone()]);
    assert_eq!(notes, ["item_repaired", "messages_merged", "messages_merged"]);
    let words = json!({"role": "system", "content": "Be brief."});
    assert_eq!(order(&[&user, &words, &user, &answer]).1, ["system_as_user"], "the user can say it where it stands");
    assert_eq!(
        order(&[&user, &answer, &added]).1,
        ["system_as_user", "empty_message_dropped"],
        "there is no place yet"
    );
}
