//! Models that reason before they answer, told by their names.

/// Returns true if a model refuses `max_tokens`: OpenAI's o-series and GPT-5 and later, with or without a vendor
/// prefix.
pub(super) fn is_reasoning_model(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let starts_with_digit = |rest: &str| rest.starts_with(|char: char| char.is_ascii_digit());
    if let Some(rest) = name.strip_prefix("gpt-") {
        let major: String = rest.chars().take_while(char::is_ascii_digit).collect();
        return major.parse::<u32>().is_ok_and(|major| major >= 5);
    }
    name.strip_prefix('o').is_some_and(starts_with_digit)
}
