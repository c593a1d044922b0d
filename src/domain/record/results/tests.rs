use super::*;

fn told(shapes: &ResultShapes<'_>, text: &str, room: usize, later: &[&str]) -> String {
    let result = ToldResult { tool: "bash", arguments: "cargo test --all", text, room, may_be_counted: false };
    shapes.told(&result, |word| later.contains(&word))
}

#[test]
fn one_failure_among_eighty_stays() {
    let mut lines: Vec<String> = (0..80).map(|n| format!("test tests::case_{n} ... PASSED")).collect();
    lines.insert(40, "test tests::empty_input ... FAILED unexpectedly".to_owned());
    let told = told(&ResultShapes::default(), &lines.join("\n"), 200, &["empty", "input"]);
    assert!(told.contains("FAILED unexpectedly") && told.contains("[…]"), "{told}");
    assert!(told.matches("PASSED").count() <= ALIKE, "{told}");
}

#[test]
fn what_recurs_in_all_results_is_not_told() {
    let mut shapes = ResultShapes::default();
    let framed = |body: &str| {
        format!("Chunk ID: 1a2b3c4d\nWall time: 0.51 seconds\nProcess exited with code 0\nOutput:\n{body}")
    };
    for n in 0..6 {
        shapes.learn(
            "bash",
            "",
            &framed(&format!("nothing alike here, number {}", ["one", "two", "six", "ten", "four", "nine"][n])),
        );
    }
    assert_eq!(told(&shapes, &framed("on branch main"), 300, &[]), "on branch main");
    // Success never reads as nothing.
    assert_eq!(told(&shapes, "Wall time: 0.9 seconds\nOutput:", 300, &[]), "Output:");
    assert_eq!(told(&shapes, "", 300, &[]), "no output");
    assert_eq!(told(&shapes, "Process exited with code 3\nwhy", 300, &[]), "exit 3: why");
}

/// Names that come again from search to search are hits all the same.
#[test]
fn hits_stay_and_what_goes_is_marked() {
    let mut shapes = ResultShapes::default();
    for n in 0..6 {
        let more = ["src/a.go\nsrc/resume.go", "src/ops.go"][n % 2];
        shapes.learn("bash", "", &format!("Found {} files\n{more}", 2 - n % 2));
    }
    let hits = "src/resume.go\nsrc/ops.go\nsrc/new.go";
    assert_eq!(told(&shapes, &format!("Found 3 files\n{hits}"), 400, &[]), hits);
    assert_eq!(
        told(&shapes, &format!("Truncated at 3 files\n{hits}\ncargo test --all"), 400, &[]),
        format!("Truncated at 3 files\n{hits} […]")
    );
}

#[test]
fn a_file_that_nobody_spoke_of_is_so_many_lines() {
    let text: String = (0..200).map(|n| format!("let value_{n} = compute({n});\n")).collect();
    let told = told(&ResultShapes::default(), &text, 100, &[]);
    assert!(told.starts_with("200 lines, the last: let value_199"), "{told}");
}

#[test]
fn json_is_told_by_its_values() {
    let text = r#"{"reservation": "HAT1", "paid": 31.5, "notes": ""}"#;
    assert_eq!(told(&ResultShapes::default(), text, 300, &[]), "reservation HAT1, paid 31.5");
}
