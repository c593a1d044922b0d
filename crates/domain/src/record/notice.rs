//! Notice in a summary message about messages that were left out to make room.

const HEADING: &str = "## Left Out";

/// `now` messages were just left out; with all earlier compactions `hidden` are no longer shown.
pub fn notice(hidden: u64, now: u64) -> String {
    format!(
        "{HEADING}\n- Earlier messages no longer shown: {hidden}. The newest {now} of them were left out to make room. All of \
         them are stored and can be read back."
    )
}

/// The body with the notice in place of an earlier one.
pub fn append(body: &str, notice: &str) -> String {
    let body = without(body);
    let separator = if body.is_empty() { "" } else { "\n\n" };
    format!("{body}{separator}{notice}")
}

/// The body without an earlier notice.
pub fn without(body: &str) -> String {
    let mut own = false;
    let kept = body.lines().filter(|line| {
        if line.starts_with('#') {
            own = *line == HEADING;
        }
        !own
    });
    kept.collect::<Vec<_>>().join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_newest_notice_stands() {
        let first = append("", &notice(5, 5));
        assert_eq!(first, notice(5, 5));
        let summed = append("## Goal\n- ship it", &notice(9, 4));
        assert_eq!(append(&summed, &notice(12, 3)), format!("## Goal\n- ship it\n\n{}", notice(12, 3)));
        assert_eq!(without(&format!("{first}\n\n## Next Steps\n1. go")), "## Next Steps\n1. go");
    }
}
