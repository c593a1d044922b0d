//! Makes cargo build a new migration in, which changes no Rust file, and tells the tests whether recordings or answers
//! outside of the repository are there.

use std::env;
use std::path::Path;

fn main() {
    let package = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    // Each crate of the workspace is built with this script.
    let root = Path::new(&package).ancestors().find(|folder| folder.join("Cargo.lock").is_file());
    let root = root.unwrap_or(Path::new(&package));
    println!("cargo::rerun-if-changed={}", root.join("migrations").display());
    println!("cargo::rerun-if-changed={}", root.join("build.rs").display());
    println!("cargo::rustc-env=CONTEXTD_ROOT={}", root.display());
    println!("cargo::rerun-if-env-changed=CONTEXTD_SHARED");
    println!("cargo::rustc-check-cfg=cfg(shared)");
    let beside = || root.join("../shared").into_os_string();
    let shared = env::var_os("CONTEXTD_SHARED").unwrap_or_else(beside);
    println!("cargo::rustc-env=CONTEXTD_SHARED_AT={}", Path::new(&shared).display());
    if ["corpus", "oracle"].iter().any(|part| Path::new(&shared).join(part).is_dir()) {
        println!("cargo::rustc-cfg=shared");
    }
}
