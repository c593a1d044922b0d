use super::*;

fn told(shapes: &ResultShapes<'_>, text: &str, room: usize, later: &[&str]) -> String {
    let result =
        ToldResult { tool: "bash", arguments: "cargo test --all", text, room, may_be_counted: false, failed: false };
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

/// In any language: a last line tells something where it does not look like the others.
#[test]
fn a_long_result_that_nobody_spoke_of_is_so_many_lines_and_what_sums_them_up() {
    let told = |text: &str| told(&ResultShapes::default(), text, 100, &[]);
    let code: String = (0..200).map(|n| format!("let value_{n} = compute({n});\n")).collect();
    assert_eq!(told(&code), "200 lines");
    let listing: String =
        (0..40).map(|n| format!("-rw-r--r-- 1 me me {} Mar {n} 10:0{} file{n}.txt\n", n * 711, n % 9)).collect();
    assert_eq!(told(&listing), "40 lines");
    let log: String = (0..40).map(|n| format!("служба {n} ответила за {} мс\n", n * 3)).collect();
    assert_eq!(told(&log), "40 lines");
    assert_eq!(told(&format!("{log}Итого: 3 ошибки, 37 успешно")), "41 lines, the last: Итого: 3 ошибки, 37 успешно");
    let tests: String = (0..80).map(|n| format!("test tests::case_{n} ... ok\n")).collect();
    let sum = "test result: ok. 80 passed; 0 failed; finished in 0.31s";
    assert_eq!(told(&format!("{tests}\n{sum}")), format!("81 lines, the last: {sum}"));
    let found: String = (0..30).map(|n| format!("src/part_{n}/mod.rs\n")).collect();
    assert_eq!(told(&found), "30 lines");
}

/// In any tool's words: a number greater than that of the lines says that there are more.
#[test]
fn a_part_of_a_file_is_no_whole_one() {
    let page: String = (1..=300).map(|n| format!("paragraph {n} of the page\n")).collect();
    for (notice, shown) in [
        (
            "[Showing lines 1-300 of 407. Use :301 to continue]",
            "302 lines, with [Showing lines 1-300 of 407. Use :301 to continue]",
        ),
        ("(結尾：共 580 行)", "302 lines, with (結尾：共 580 行)"),
        ("(End of file, 300 lines)", "302 lines"),
        ("return compute(99999)", "302 lines"),
    ] {
        assert_eq!(lines_shown(302, &format!("{page}\n{notice}\n")), shown);
        assert!(is_line_count(shown));
    }
    assert!(!is_line_count("302 lines, the last: Done"));
}

#[test]
fn json_is_told_by_its_values() {
    let text = r#"{"reservation": "HAT1", "paid": 31.5, "notes": ""}"#;
    assert_eq!(told(&ResultShapes::default(), text, 300, &[]), "reservation HAT1, paid 31.5");
}
