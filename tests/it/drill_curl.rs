//! The scripts under `tests/curl`: what a shell and curl see of a live server.

use std::path::Path;
use std::process::Command;

use crate::app::App;

#[test]
fn the_curl_scripts_pass() {
    let app = App::fresh(&[]);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/curl");
    let mut scripts: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    scripts.retain(|path| path.extension().is_some_and(|extension| extension == "sh") && !path.ends_with("lib.sh"));
    scripts.sort();
    assert!(!scripts.is_empty());
    for script in scripts {
        let output = Command::new("bash").arg(&script).env("CONTEXTD", app.url("")).output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{}\n{out}\n{err}", script.display());
        print!("{out}");
    }
}
