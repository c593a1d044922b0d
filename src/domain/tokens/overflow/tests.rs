use serde_json::json;

use super::*;

const OVERFLOWS: &[&str] = &[
    "prompt is too long: 213462 tokens > 200000 maximum",
    r#"413 {"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
    "Input is too long for requested model.",
    "Your input exceeds the context window of this model",
    "Requested token count exceeds the model's maximum context length of 131072 tokens",
    "The input exceeds the model's maximum context length (65536)",
    "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
    "Please reduce the length of the messages or completion",
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 142837 tokens.",
    "Input length 9000 exceeds the maximum allowed input length of 8192 tokens",
    "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
    "prompt token count of 140000 exceeds the limit of 128000",
    "the request exceeds the available context size, try increasing it",
    r#"{"error":{"code":400,"type":"exceed_context_size_error","n_ctx":4096}}"#,
    "tokens to keep from the initial prompt is greater than the context length",
    "invalid params, context window exceeds limit",
    "Your request exceeded model token limit: 262144 (requested: 291351)",
    "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
    "prompt has 9,000 tokens, but the configured context size is 8,192",
    "stop reason: model_context_window_exceeded",
    "prompt too long; exceeded max context length by 4 tokens",
    "Range of input length should be [1, 98304]",
    r#"{"code":"context_length_exceeded"}"#,
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    "Too many tokens in the prompt",
    "Token limit exceeded",
    "400 (no body)",
    "413 status code (no body)",
];

const OTHERS: &[&str] = &[
    "",
    "Throttling error: Too many tokens, please wait before trying again.",
    "ThrottlingException: too many tokens",
    "Service unavailable: too many tokens in flight",
    "Rate limit reached on tokens per minute: 30000, token limit exceeded",
    r#"{"code":"rate_limit_exceeded","message":"Request too large, too many tokens per minute"}"#,
    "429 Too Many Requests: token limit exceeded for this minute",
    "500 (no body)",
    "Incorrect API key provided",
    "You exceeded your current quota",
    "Invalid value for max_tokens: must be positive",
];

#[test]
fn overflow_texts_are_recognised() {
    for text in OVERFLOWS {
        assert!(is_context_overflow(text), "{text}");
        assert!(is_context_overflow(&text.to_uppercase()), "upper case: {text}");
    }
}

#[test]
fn other_errors_are_not_overflows() {
    for text in OTHERS {
        assert!(!is_context_overflow(text), "{text}");
    }
}

#[test]
fn the_words_of_an_error_are_found() {
    let overflows = |code: u16, body: &str| is_context_overflow(&error_text(code, body.as_bytes()));
    let anthropic = json!({"type": "error", "error": {"type": "invalid_request_error",
        "message": "prompt is too long: 204999 tokens > 200000 maximum"}});
    let openai = json!({"error": {"code": "context_length_exceeded", "message": "Your input is too long."}});
    assert!(overflows(400, &anthropic.to_string()) && overflows(400, &openai.to_string()));
    assert!(overflows(413, "") && overflows(413, "request_too_large"));
    assert!(!overflows(400, &json!({"error": {"message": "unknown parameter: x"}}).to_string()));
    assert!(!overflows(422, ""));
}

#[test]
fn a_rate_limit_or_an_outage_wins_over_every_overflow_text() {
    for text in OVERFLOWS {
        for other in [
            format!("Throttling error: {text}"),
            format!("ThrottlingException: {text}"),
            format!("Service Unavailable: {text}"),
            format!("serviceunavailable {text}"),
            format!("{text} (rate limit)"),
            format!("rate_limit_exceeded: {text}"),
            format!("Too many requests. {text}"),
        ] {
            assert!(!is_context_overflow(&other), "{other}");
        }
    }
}

#[test]
fn every_pattern_is_needed_by_some_text() {
    for (index, pattern) in OVERFLOW.iter().enumerate() {
        let set = compiled(&OVERFLOW[index..=index]);
        assert!(OVERFLOWS.iter().any(|text| set.is_match(text)), "no example for {pattern}");
    }
}

#[test]
fn a_megabyte_of_text_is_no_problem() {
    let text = format!("{}prompt is too long", "input token count ".repeat(60_000));
    assert!(is_context_overflow(&text));
}

#[test]
fn silent_overflows() {
    let usage = |input, cache_read, output| ReportedUsage { input, cache_read, output, ..Default::default() };
    assert!(is_silent_overflow(Some(Stop::End), &usage(900, 200, 5), 1000));
    assert!(!is_silent_overflow(Some(Stop::End), &usage(800, 200, 5), 1000));
    assert!(is_silent_overflow(Some(Stop::Length), &usage(990, 0, 0), 1000));
    assert!(!is_silent_overflow(Some(Stop::Length), &usage(989, 0, 0), 1000));
    assert!(!is_silent_overflow(Some(Stop::Length), &usage(990, 0, 1), 1000));
    assert!(!is_silent_overflow(None, &usage(5000, 0, 0), 1000));
    assert!(!is_silent_overflow(Some(Stop::End), &usage(5000, 0, 1), 0));
}

#[test]
fn the_window_that_a_refusal_names_is_read() {
    for (text, window) in [
        ("This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.", 8_192),
        ("This model's maximum context length is 128,000 tokens. However, you requested 142837 tokens", 128_000),
        ("prompt is too long: 210000 tokens > 200000 maximum", 200_000),
        ("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length", 200_000),
        ("The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).", 1_048_575),
        ("the request exceeds the available context size (4096 tokens), try increasing it", 4_096),
        ("request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it", 8_192),
        (r#"{"error":{"code":400,"type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}"#, 4_096),
        ("This model's maximum prompt length is 131072 but the request contains 537812 tokens", 131_072),
        ("Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 32_768),
        ("prompt has 9,000 tokens, but the configured context size is 8,192", 8_192),
        ("The input (9000 tokens) is longer than the model's context length (8192 tokens).", 8_192),
        ("Requested token count exceeds the model's maximum context length of 131072 tokens", 131_072),
        ("The input exceeds the model's maximum context length (65536)", 65_536),
        ("Input length 9000 exceeds the maximum allowed input length of 8192 tokens", 8_192),
        ("prompt token count of 140000 exceeds the limit of 128000", 128_000),
        ("Your request exceeded model token limit: 262144 (requested: 291351)", 262_144),
        ("Range of input length should be [1, 98304]", 98_304),
        ("The decoder prompt (length 5000) is longer than the maximum model length of 4096.", 4_096),
        ("You passed 5000 input tokens. However, the model's context length is only 4096 tokens", 4_096),
        ("`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens", 4_096),
        ("the total number of tokens in the prompt cannot exceed 4081 - received 5000", 4_081),
        ("the model is loaded with context length of only 4096 tokens", 4_096),
        ("The prompt is too long: 140000, model maximum context length: 131071", 131_071),
        ("maximum context length is 128k tokens", 128_000),
    ] {
        assert_eq!(named_window(text), Some(window), "{text}");
    }
    for text in [
        "Input is too long for requested model.",
        "invalid params, context window exceeds limit (2013)",
        "Your input exceeds the context window of this model",
        "prompt too long; exceeded max context length by 4 tokens",
        "413 (no body)",
        "",
    ] {
        assert_eq!(named_window(text), None, "{text}");
    }
}
