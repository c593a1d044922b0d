//! `docs/CODES.md`, which lists codes with what they mean.

const PAGE: &str = include_str!("../../docs/CODES.md");

/// The rows under the heading that names a type are its codes, in order.
#[track_caller]
pub fn assert_listed<C: Into<&'static str>>(name: &str, codes: impl IntoIterator<Item = (C, String)>) {
    let heading = format!("(`{name}`)");
    let section =
        PAGE.split("\n## ").find(|section| section.lines().next().is_some_and(|line| line.ends_with(&heading)));
    let rows = section.unwrap_or_else(|| panic!("no section {heading}")).lines();
    let told: Vec<&str> = rows.filter(|row| row.starts_with("| `")).collect();
    let row = |(code, meaning): (C, String)| format!("| `{}` | {meaning} |", code.into());
    assert_eq!(told, codes.into_iter().map(row).collect::<Vec<_>>(), "docs/CODES.md, {name}");
}
