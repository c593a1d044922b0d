//! A new migration alone changes no Rust file; this makes cargo build it in all the same.

fn main() {
    println!("cargo::rerun-if-changed=migrations");
}
