use super::*;

fn of_tool<'t>(tool: &'t str, arguments: &'t str, text: &'t str, room: usize) -> ToldResult<'t> {
    ToldResult { tool, arguments, text, room, room_of_data: room, may_be_counted: false, failed: false }
}

fn told(shapes: &ResultShapes<'_>, text: &str, room: usize, later: &[&str]) -> String {
    let result = of_tool("bash", "cargo test --all", text, room);
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
    assert_eq!(told(&shapes, "Wall time: 0.9 seconds\nOutput:", 300, &[]), "Wall time: 0.9 seconds");
    let made = "OBSERVATION:\nFile created successfully at: /src/a.py\nIf asked, read it again.";
    (0..4).for_each(|_| shapes.learn("edit", "", made));
    let edit = of_tool("edit", "", made, 300);
    assert_eq!(shapes.told(&edit, |_| false), "File created successfully at: /src/a.py", "what it did comes first");
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
    assert_eq!(told(&format!("{tests}\n{sum}")), format!("82 lines, the last: {sum}"));
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
            "300 lines, with [Showing lines 1-300 of 407. Use :301 to continue]",
        ),
        ("(結尾：共 580 行)", "300 lines, with (結尾：共 580 行)"),
        ("(End of file, 300 lines)", "300 lines"),
        ("return compute(99999)", "302 lines"),
    ] {
        assert_eq!(lines_shown(302, &format!("{page}\n{notice}\n")), shown);
        assert!(is_line_count(shown));
    }
    assert!(!is_line_count("302 lines, the last: Done"));
    for (notice, told) in [
        ("Showing lines 1-300 of 1341 total lines.", "300 lines, with Showing lines 1-300 of 1341 total lines."),
        ("Zeilen 201 bis 500 von 500", "300 lines, with Zeilen 201 bis 500 von 500"),
        ("第1-300行，共1341行", "300 lines, with 第1-300行，共1341行"),
        ("Version 1.2.3 of the page", "304 lines"),
    ] {
        let text = format!("{notice}\n\n---\n\n{page}");
        assert_eq!(lines_shown(304, &text), told);
        assert!(is_line_count(told));
    }
}

#[test]
fn json_is_told_by_its_values() {
    let text = r#"{"reservation": "HAT1", "paid": 31.5, "notes": ""}"#;
    assert_eq!(told(&ResultShapes::default(), text, 300, &[]), "reservation HAT1, paid 31.5");
}

/// In any tool: what a result repeats of its call's arguments stands there.
#[test]
fn what_a_call_was_given_is_not_told_again() {
    let written: Vec<String> = (0..30).map(|n| format!("  export const value{n} = compute({n});")).collect();
    let result = |arguments: &str, text: &str| {
        let result = ToldResult {
            tool: "schreibe",
            arguments,
            text,
            room: 300,
            room_of_data: 300,
            may_be_counted: false,
            failed: false,
        };
        ResultShapes::default().told(&result, |word| word.contains("value"))
    };
    let given = format!("src/a.ts\n{}", written.join("\n"));
    let numbered: Vec<String> = written.iter().enumerate().map(|(n, line)| format!("{:>6}\t{line}", n + 1)).collect();
    let diff: Vec<String> = written.iter().map(|line| format!("+{line}")).collect();
    for shown in [&written, &numbered, &diff] {
        let text = format!("Geschrieben: src/a.ts. Der Stand:\nbefore\n{}\nafter\n2 Warnungen", shown.join("\n"));
        let told = result(&given, &text);
        assert!(told.contains("2 Warnungen") && told.contains("Geschrieben") && !told.contains("compute"), "{told}");
    }
    // What a program prints is told though its lines stand in it.
    let script = "print('passed: a')\nprint('passed: b')\nprint('passed: c')";
    assert_eq!(result(script, "passed: a\npassed: b\npassed: c"), "passed: a\npassed: b\npassed: c");
}

/// A program that quotes a file says what it means beside the quotation, and in its last line how it ended.
#[test]
fn quoted_lines_give_way_to_what_is_said_of_them() {
    let quote = |n: usize| {
        format!(
            "warning: field `name_{n}` is never read\n --> src/app.rs:{n}:9\n   |\n{n} |     pub name_{n}: Option<i64>,\n   |         ^^^^^^^^ help\n"
        )
    };
    let output = (20..32).map(quote).collect::<String>() + "Finished in 0.2 s, 12 warnings";
    let told = told(&ResultShapes::default(), &output, 160, &["Option", "pub", "i64"]);
    assert!(told.contains("is never read") && told.ends_with("Finished in 0.2 s, 12 warnings"), "{told}");
    assert!(!told.contains("pub name_"), "{told}");
}

#[test]
fn a_wrappers_lines_are_not_counted_as_a_results() {
    let framed = |body: &str| format!("Exit code: 0\nWall time: 0.3 seconds\nOutput:\n{body}\n");
    let mut shapes = ResultShapes::default();
    for n in 0..6 {
        shapes.learn("shell", "", &framed(&format!("nothing alike, {}", ["a", "b", "see", "of", "the", "rest"][n])));
    }
    let hits: Vec<String> = (0..40).map(|n| format!("src/part_{n}.rs:{n}: let port = {n};")).collect();
    let file = framed(&hits.join("\n"));
    let result = ToldResult {
        tool: "shell",
        arguments: "rg port",
        text: &file,
        room: 60,
        room_of_data: 60,
        may_be_counted: true,
        failed: false,
    };
    assert_eq!(shapes.told(&result, |_| false), "40 lines");
}

#[test]
fn a_question_that_is_repeated_is_no_answer() {
    let call = ToolCall {
        id: "c".to_owned(),
        name: "ask_clarification".to_owned(),
        arguments: serde_json::json!({"question": "Which timeframe do you consider recent?", "options": ["a week", "a month"]}),
        arguments_text: None,
        kind: Default::default(),
        opaque: None,
    };
    let reply = |text: &str| {
        let content = vec![crate::model::message::Block::text(text)];
        let result = ToolResult {
            tool_call_id: "c".into(),
            name: None,
            content,
            is_error: false,
            kind: Default::default(),
            opaque: None,
        };
        users_reply(&call, &result)
    };
    assert_eq!(reply("❓ Which timeframe do you consider recent?\n1. a week\n2. a month"), None);
    assert_eq!(reply("a month").as_deref(), Some("a month"));
}

#[test]
fn a_header_says_how_a_program_ended_and_is_no_output() {
    let told = |text: &str| told(&ResultShapes::default(), text, 400, &[]);
    let framed = "Chunk ID: 5c9bc4\nWall time: 0.05 seconds\nProcess exited with code 0\nOriginal token count: 26\nOutput:\nsrc/a.rs\nsrc/b.rs";
    assert_eq!(told(framed), "src/a.rs\nsrc/b.rs");
    assert_eq!(told("Exit code: 2\nWall time: 1 seconds\nOutput:\nno such file"), "exit 2: no such file");
    let file = "name: app\nversion: 1\ndeps:\n  - serde";
    assert_eq!(told(file), "name: app\nversion: 1\ndeps:\n- serde");
}

#[test]
fn lines_that_recur_in_files_are_the_files_own() {
    let mut shapes = ResultShapes::default();
    let file = |n: usize| format!("{}value {n}\n", "the same in every file\n".repeat(12));
    for n in 0..6 {
        shapes.learn("read", "", &file(n));
    }
    assert_eq!(shapes.without_wrapper("read", &file(7)), file(7).trim_end());
}

#[test]
fn of_a_page_its_first_passages_are_told() {
    let passage = |n: u32| {
        format!(
            "Passage {n} says what the page is about, in so many words that nobody takes it for a link or a label of the page."
        )
    };
    let badge = "[![stars](https://img.example.org/github/stars/a/b?style=flat&logo=github)](https://github.com/a/b/stargazers)";
    let page = format!("Home\n{badge}\nSign in\n{}\nRead more\n{}\nShare\n{}", passage(1), passage(2), passage(3));
    let told = |arguments: &str| {
        let result = ToldResult {
            tool: "fetch",
            arguments,
            text: &page,
            room: 280,
            room_of_data: 280,
            may_be_counted: false,
            failed: false,
        };
        ResultShapes::default().told(&result, |_| false)
    };
    assert_eq!(told("https://example.org/a"), format!("[…] {} […]\n{} […]", passage(1), passage(2)));
    assert!(!told("notes.md").contains("Passage 1"));
}

#[test]
fn colours_are_no_words_and_a_usual_line_repeats_no_argument() {
    let coloured =
        "\u{1b}[32mok\u{1b}[0m \u{1b}]8;;http://a\u{1b}\\link\u{1b}]8;;\u{1b}\\ \u{1b}[1;31m3 failed\u{1b}[K";
    assert_eq!(without_escapes(coloured.to_owned()), "ok link 3 failed");
    let mut shapes = ResultShapes::default();
    let path = |n: usize| format!("/home/somebody/project/src/part_{n}.rs");
    let text = |n: usize| format!("File created successfully at: {}", path(n));
    (0..8).for_each(|n| shapes.learn("Write", &path(n), &text(n)));
    let (path, text) = (path(9), text(9));
    let result = of_tool("Write", &path, &text, 200);
    assert_eq!(shapes.told(&result, |_| false), "File created successfully at: […]");
}

#[test]
fn of_a_search_the_hits_are_told() {
    let hit = |n: usize| {
        let words = format!("Some lines of page {n} that say this and that. ").repeat(3);
        format!(
            "{n}. [Title {n}](https://example.org/{n}) — engine\n{words}\nMore words of it, unlike the others {n}{n}."
        )
    };
    let text = format!("Search results:\n{}", (1..9).map(hit).collect::<Vec<_>>().join("\n"));
    let told = told(&ResultShapes::default(), &text, 300, &["Title"]);
    assert!(told.contains("[Title 1](https://example.org/1)") && !told.contains("this and that"), "{told}");
}

/// Of a traceback its last line says what went wrong; its places do not.
#[test]
fn why_a_program_failed_is_told_before_where() {
    let frames: String = (0..14)
        .map(|n| {
            format!("  File \"/srv/laden/modul_{n}.py\", line {}, in schritt_{n}\n    weiter_{n}(kunde)\n", 10 + n)
        })
        .collect();
    let text = format!("Starte.\nTraceback (most recent call last):\n{frames}KeyError: 'rechnung'\nAufgeräumt in 3 s.");
    let told = told(&ResultShapes::default(), &text, 100, &[]);
    assert!(told.contains("KeyError: 'rechnung'"), "{told}");
    let text =
        format!("Build of 4 modules\nTypeError: kunde is undefined\n{}", "    at lauf (/srv/a.js:10:5)\n".repeat(9));
    let told = self::told(&ResultShapes::default(), &text, 60, &[]);
    assert!(told.contains("TypeError") && !told.contains("the last"), "{told}");
}

/// When a tool did something is not what it did.
#[test]
fn a_time_stamp_is_no_beginning() {
    let text = "Created At: 2026-03-05T09:12:44Z\nCompleted At: 2026-03-05T09:12:45Z\nsh: 1: pnpm: not found";
    assert_eq!(told(&ResultShapes::default(), text, 300, &[]), "sh: 1: pnpm: not found");
    assert_eq!(told(&ResultShapes::default(), "Now: 2026-03-05T09:12:44Z", 300, &[]), "Now: 2026-03-05T09:12:44Z");
}

#[test]
fn of_a_change_what_came_is_told() {
    let change = |arguments: &str, text: &str| {
        let (tool, room) = ("edit", 200);
        let result = of_tool(tool, arguments, text, room);
        ResultShapes::default().told(&result, |word| word.starts_with("came"))
    };
    let text = "--- a.py\n+++ a.py\n@@ -9 +9,3 @@\n-from app import Domain\n+from shop.app import Domain\n+from shop.app import Base\n+from shop.app import engine";
    let given =
        change("a.py\nfrom shop.app import Domain\nfrom shop.app import Base\nfrom shop.app import engine", text);
    assert_eq!(given, "[…]");
    let long =
        format!("{text}\n{}", (0..30).map(|n| format!("-gone_{n} = {n}\n+came_{n} = {n}\n")).collect::<String>());
    let told = change("git diff", &long);
    assert!(told.contains("+came_") && !told.contains("-gone_"), "{told}");
}

/// What a tool says in brackets of what it has shown is not so any more once that is cut.
#[test]
fn a_receipt_is_told_without_what_stands_in_brackets() {
    let result = of_tool(
        "Edit",
        "/srv/laden/src/kasse.ts",
        "The file /srv/laden/src/kasse.ts has been updated. (file state is current in your context)",
        300,
    );
    assert_eq!(
        ResultShapes::default().told(&result, |_| false),
        "The file /srv/laden/src/kasse.ts has been updated. […]"
    );
}

/// What a tool says with each file is not what stands in this one.
#[test]
fn what_a_tool_says_each_time_is_no_line_of_the_file() {
    let words = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht"];
    let shown = |n: usize| {
        let body: String =
            (1..40).map(|line| format!("{line}: {} steht in {} hier\n", words[n % 8], words[line % 8])).collect();
        format!(
            "Created At: 2026-03-0{}T09:12:44Z\nFile Path: `file:///c:/laden/{}.py`\nThe following has been modified to include a line number before every line: <line>: <original>.\n{body}",
            n + 1,
            words[n % 8]
        )
    };
    let texts: Vec<String> = (0..8).map(shown).collect();
    let mut shapes = ResultShapes::default();
    texts.iter().for_each(|text| shapes.learn("bash", "", text));
    let told = told(&shapes, &texts[3], 120, &["vier"]);
    assert!(told.contains("vier steht in") && !told.contains("has been modified"), "{told}");
}

/// What the call says itself is left out of what its result shows of it, and marked.
#[test]
fn what_was_given_leaves_a_mark() {
    let body: String = (0..12).map(|n| format!("const wert_{n} = {n};\n")).collect();
    let text = format!(
        "Saved. Here is the full content:\n<final_file path=\"a.ts\">\n/**\n{body}</final_file>\nOne error: line 3."
    );
    let (tool, arguments, room) = ("write", body.as_str(), 400);
    let result = of_tool(tool, arguments, &text, room);
    let told = ResultShapes::default().told(&result, |_| false);
    assert!(told.contains("/**\n[…]\n</final_file>") && told.contains("One error: line 3."), "{told}");
    let mixed = "{\"name\": \"a\"}\nrender(\n  <Mode>\n    <App />\n  </Mode>\n)\nimport b";
    let told = self::told(&ResultShapes::default(), mixed, 400, &[]);
    assert!(told.contains("render(\n<Mode>\n<App />\n</Mode>\n)\nimport b"), "{told}");
}

/// Of a page that was fetched with others its passages say something, and its menu does not.
#[test]
fn a_page_among_others_is_told_by_its_passages() {
    let menu: String = (0..9).map(|n| format!("*   [Seite {n}](https://laden.example/seite/{n})\n")).collect();
    let prose: String = (0..40)
        .map(|n| format!("Absatz {n} erklärt ausführlich, warum eine einzige Datei für {n} gleichzeitige Leser genügt und was beim Schreiben zu beachten ist, bevor man einen Server nimmt.\n\n"))
        .collect();
    let told = told(&ResultShapes::default(), &format!("{menu}# Eine Datei\n{prose}{menu}"), 300, &[]);
    assert!(told.contains("Absatz 0 erklärt") && !told.contains("laden.example"), "{told}");
    let hits: String = (0..9).map(|n| format!("[{n}] [Treffer {n}](https://suche.example/treffer/seite/{n})\nEin kurzer Auszug aus der Seite {n}, wie ihn eine Suche zeigt.\n")).collect();
    let told = self::told(&ResultShapes::default(), &hits, 300, &["Auszug"]);
    assert!(told.contains("suche.example"), "{told}");
}

/// A harness puts the notes of a folder behind whatever its tools return from there.
#[test]
fn what_stands_behind_results_of_several_tools_is_nobodys() {
    let notes = "\n\n[Folder notes found: /home/vault/NOTES.md]\n---\ntags: [agent]\n---\n# How the agent works\n- **Budget:** 8 EUR a month\n- It asks before it buys.";
    let mut shapes = ResultShapes::default();
    let written = format!("{{\"bytes_written\": 25666, \"dirs_created\": true}}{notes}");
    let log = format!("SyntaxError: invalid syntax in best_low-dd{notes}");
    shapes.learn("write_file", "", &written);
    shapes.learn("terminal", "", &log);
    shapes.learn("read_file", "", &format!("port = 5177{notes}"));
    let told = |text: &str| shapes.told(&of_tool("terminal", "", text, 200), |_| false);
    assert_eq!(told(&log), "SyntaxError: invalid syntax in best_low-dd");
    assert_eq!(told(&written), "bytes_written 25666, dirs_created true");
    // What one tool alone says is its own.
    let mut one = ResultShapes::default();
    (0..3).for_each(|_| one.learn("terminal", "", &log));
    assert!(one.told(&of_tool("terminal", "", &log, 400), |_| false).contains("Budget"));
}

/// Several tools show one file, whole or its end, or find the same files.
#[test]
fn what_several_tools_show_is_their_result() {
    let mut shapes = ResultShapes::default();
    let file: String = (1..=40).map(|n| format!("{n}: rules.push(Rule::new(classify(first(input))));\n")).collect();
    let lines: Vec<&str> = file.lines().collect();
    let tools = ["read_file", "bash", "grep"];
    for (at, tool) in tools.into_iter().enumerate() {
        shapes.learn(tool, "", &file);
        // The rest of the file from different lines on, and overlapping parts of it.
        shapes.learn(tool, "", &lines[10 * at..].join("\n"));
        shapes.learn(tool, "", &lines[5 * at..5 * at + 25].join("\n"));
    }
    let told = |text: &str| shapes.told(&of_tool("bash", "grep -rn first src", text, 80), |_| false);
    assert_eq!(told(&file), "40 lines");
    for part in [&lines[5..30], &lines[30..], &lines[..25]] {
        assert_eq!(shapes.without_shared_end(&part.join("\n")), part.join("\n"));
    }
    for header in ["File: src/parse.rs", "src/parse.rs, 40 lines", "From src/parse.rs"] {
        shapes.learn("view", "", &format!("{header}\n{file}"));
    }
    let told = |text: &str| shapes.told(&of_tool("bash", "tail -n 1", text, 400), |_| false);
    let last = file.lines().last().unwrap();
    assert_eq!(told(last), last);
    assert_eq!(shapes.without_shared_end(&file), file.trim_end());
    let found = "src/parse/whole_input.rs\nsrc/parse/first_letter.rs";
    for (tool, first) in [("glob", "2 files"), ("grep", "Found 2 files"), ("find", ".")] {
        shapes.learn(tool, "", &format!("{first}\n{found}"));
    }
    let told = |text: &str| shapes.told(&of_tool("grep", "-l first", text, 200), |_| false);
    assert_eq!(told(found), found);
}

#[test]
fn an_element_around_a_whole_result_is_its_tools() {
    let told = |text: &str| ResultShapes::default().told(&of_tool("write", "", text, 200), |_| false);
    assert_eq!(told("<result>\nFile written: /src/a.py\n</result>\n"), "File written: /src/a.py");
    let page = "<table>\n<tr>7</tr>\n</table>";
    assert_eq!(told(page), page, "a file of elements is told as it is");
    assert_eq!(told("<a>\nb\n</c>"), "<a>\nb\n</c>");
}

#[test]
fn a_command_that_is_repeated_is_no_output() {
    let command = "cd app; git branch -a; git remote -v";
    let text = format!("```bash\n{command}\n```\n\n```\n* main\norigin git@host:shop.git (fetch)\n```");
    let arguments = format!("Run command: {command}");
    let told = ResultShapes::default().told(&of_tool("terminal", &arguments, &text, 200), |_| false);
    assert!(told.contains("* main") && told.contains("shop.git") && !told.contains("git branch"), "{told}");
}

/// What stands around a change is the file's, and what went is not there any more.
#[test]
fn of_a_change_that_the_call_has_told_nothing_is_told_again() {
    let text = "The following changes were made to: /src/a.ts\n[diff_start]\n@@ -1,3 +1,4 @@\n import { a } from './a';\n+import { b } from './labels-of-b';\n-import { old } from './old';\n \n interface Risk {\n[diff_end]\nOnly what changed is shown.";
    let arguments = "/src/a.ts\nimport { a } from './a';\nimport { b } from './labels-of-b';";
    let told = ResultShapes::default().told(&of_tool("replace", arguments, text, 300), |_| false);
    for word in ["interface", "old", "import", "diff_start"] {
        assert!(!told.contains(word), "{word}: {told}");
    }
}

#[test]
fn what_a_program_says_of_itself_behind_an_output_does_not_sum_it_up() {
    let output: String = (0..12).map(|n| format!("1X2 fair odds {n} of Brighton\n")).collect();
    let text =
        serde_json::json!({"status": "success", "output": output, "tool_calls_made": 1, "duration_seconds": 0.47});
    let told = ResultShapes::default().told(&of_tool("execute", "", &text.to_string(), 60), |word| word == "Brighton");
    assert!(told.contains("1X2 fair odds") && !told.contains("duration"), "{told}");
}

#[test]
fn a_wrappers_last_line_does_not_sum_up() {
    let mut shapes = ResultShapes::default();
    let framed = |n: usize| {
        let tabs: String = (0..9).map(|tab| format!("tab {tab}{n} shows page number {tab}\n")).collect();
        format!("{tabs}<<<END_OF_EXTERNAL id=\"{n}5f3a9c7\">>>")
    };
    (0..6).for_each(|n| shapes.learn("browser", "", &framed(n)));
    let told = shapes.told(&of_tool("browser", "", &framed(7), 60), |word| word == "shows");
    assert!(told.contains("shows page") && !told.contains("END_OF"), "{told}");
}

/// In any program's words: many lines with one sign are those that passed.
#[test]
fn of_a_run_that_failed_no_line_that_passed_is_told() {
    for (passed, failed, end) in [
        (
            "✓ tests/document-flow.test.ts (3 tests) 108ms",
            "× maps an unknown code to its own name 5ms",
            "Tests  1 failed | 66 passed (67)",
        ),
        (
            "✔ le flux des documents est complet",
            "✘ le code inconnu : attendu « A », reçu « B »",
            "66 réussis, 1 échoué",
        ),
        ("[通过] 文档流程 document-flow", "[失败] 未知代码 labels", "失败 1，通过 66"),
    ] {
        let others = (0..9).map(|n| format!("{} step {n} of the run, {}ms", passed.split(' ').next().unwrap(), n * 7));
        let lines: Vec<String> =
            others.chain([passed.to_owned(), failed.to_owned(), end.to_owned(), "Duration 508ms".to_owned()]).collect();
        let text = format!("Exit code: 1\n{}", lines.join("\n"));
        let told = told(&ResultShapes::default(), &text, 90, &["document", "flow", "流程"]);
        assert!(told.starts_with("exit 1: ") && !told.contains(passed), "{told}");
        assert!(told.contains(failed) || told.contains(end), "{told}");
    }
}

/// Whatever the words are: of lines that begin alike the one that begins otherwise is told.
#[test]
fn of_checks_the_one_that_missed_is_told() {
    for (well, ill) in [("OK", "MISS"), ("найдено", "отсутствует"), ("有", "缺")] {
        let lines = ["orders", "stock", "people", "ledger", "board", "sidebar", "clients", "news"];
        let line = |name: &&str| format!("{} {name}-{}", if **name == *"sidebar" { ill } else { well }, name.len());
        let text = format!("STATUS: 200\nLength: 67130\n{}", lines.iter().map(line).collect::<Vec<_>>().join("\n"));
        let told = told(&ResultShapes::default(), &text, 90, &["orders", "ledger", "board", "clients"]);
        assert!(told.contains(&format!("{ill} sidebar")), "{told}");
    }
}

/// What a harness says behind an output does not sum it up.
#[test]
fn an_element_behind_an_output_does_not_sum_it_up() {
    let lines: String = (0..40).map(|n| format!("служба {n} ответила за {} мс\n", n * 3)).collect();
    let told = told(&ResultShapes::default(), &format!("{lines}\n<cwd>/w/scripts</cwd>"), 100, &[]);
    assert!(!told.contains("cwd"), "{told}");
}

/// Empty lines of a file count, numbered or not.
#[test]
fn every_line_of_a_file_is_counted() {
    let line =
        |n: usize| if n.is_multiple_of(5) { format!("{n}: \n") } else { format!("{n}: part {n} of the plan, whole\n") };
    let file: String = (1..=580).map(line).collect();
    let text = format!(
        "<path>/w/docs/plan.md</path>\n<type>file</type>\n<content>\n{file}\n(End of file - total 580 lines)\n</content>"
    );
    assert_eq!(told(&ResultShapes::default(), &text, 200, &[]), "580 lines");
}

#[test]
fn a_block_that_says_again_what_was_run_is_no_output() {
    let shapes = ResultShapes::default();
    let run = |arguments: &str, text: &str| shapes.told(&of_tool("terminal", arguments, text, 300), |_| false);
    assert_eq!(run("Run command: pnpm dev", "```bash\npnpm dev\n```\n"), "no output");
    assert_eq!(run("netstat -ano | grep 64", "```bash\nnetstat -ano | grep 64\n```\n\n```\n```"), "no output");
    assert_eq!(run("a.txt\nport 80", "```\nport 80\n```"), "port 80", "of what was written it is no echo");
    assert_eq!(run("Run command: pnpm dev", "```bash\npnpm dev\n```\n\n```\nready on 6419\n```"), "ready on 6419");
}

/// Where a call carries no question, its result may hold it and more.
#[test]
fn what_a_tool_that_asks_returns_is_the_users_where_it_is_known_what_was_asked() {
    let ask = |arguments: serde_json::Value, text: &str| {
        let call = ToolCall {
            id: "c".to_owned(),
            name: "ask_question".to_owned(),
            arguments,
            arguments_text: None,
            kind: Default::default(),
            opaque: None,
        };
        let result = ToolResult {
            tool_call_id: "c".to_owned(),
            name: None,
            content: vec![crate::model::message::Block::text(text)],
            is_error: false,
            kind: Default::default(),
            opaque: None,
        };
        users_reply(&call, &result)
    };
    let echoed = "Parameters:\n{\"options\": [\"A. fork it\", \"B. build it anew\"]}\nResult: A";
    assert_eq!(ask(serde_json::json!({}), echoed), None);
    let question = serde_json::json!({"question": "Fork it, or build it anew from the ground up?"});
    assert_eq!(ask(question, "Fork it."), Some("Fork it.".to_owned()));
}

#[test]
fn among_numbered_lines_no_half_of_a_line_is_told() {
    let shapes = ResultShapes::default();
    let listing = |from: usize| {
        let lines = (from..from + 60).map(|n| format!("{n}:   const [word{n}, setWord{n}] = useState(false);"));
        lines.collect::<Vec<_>>().join("\n")
    };
    let text = format!(
        "File Path: `file:///C:/My%20App/App.jsx`\n{}\n<truncated 2332 bytes>\neinstallprompt\", handler);\n{}",
        listing(1),
        listing(90)
    );
    let heard = |word: &str| matches!(word, "einstallprompt" | "handler" | "App" | "setWord95");
    let told = shapes.told(&of_tool("view_file", "", &text, 200), heard);
    assert!(told.contains("95:   const [word95") && !told.contains("einstallprompt"), "{told}");
    // A log's lines begin with times: what stands between them is its own.
    let log = (0..40).map(|n| format!("12:30:{n:02} INFO step {n}")).collect::<Vec<_>>().join("\n");
    let log = format!("{log}\nhandler gave up\n12:31:00 INFO end");
    assert!(shapes.told(&of_tool("bash", "", &log, 200), heard).contains("handler gave up"));
}

/// The lines of a text within JSON are counted, and nothing around them.
#[test]
fn lines_are_those_of_what_a_program_printed() {
    let output = "npm error\nnpm error If you believe this might be a permissions issue, please double-check the\n\
                  npm error permissions of the file and its containing directories, or try running\n\
                  npm error the command again as root/Administrator.\n\
                  npm error A complete log of this run can be found in: /home/agent/.npm/_logs/debug-0.log";
    let text = serde_json::json!({"output": output, "exit_code": 0, "error": null}).to_string();
    let told = ResultShapes::default().told(&of_tool("terminal", "npm install -g x", &text, 40), |_| false);
    assert!(told.starts_with("5 lines") && !told.contains("the last: […]"), "{told}");
}
