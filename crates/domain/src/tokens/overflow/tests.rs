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
    "Number of input tokens exceeds maximum length. Please update the input to try again.",
    "Prompt exceeds max length",
    "tokens_limit_reached: Request body too large for gpt-4o model. Max size: 8000 tokens.",
    "The request exceeds the available context size. try increasing the context size or enable context shift",
    "input length exceeds the context length",
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
    "Rate limit reached for gpt-4 in organization org-1 on tokens per min (TPM): Limit 10000, Used 8554, Requested 3082.",
    "Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 342389. The input or \
     output tokens must be reduced in order to run successfully.",
    "Request too large for model `llama-3.1-8b-instant` in organization `org_1` service tier `on_demand` on tokens per minute \
     (TPM): Limit 6000, Requested 7500, please reduce your message size and try again.",
    "This request would exceed your organization's rate limit of 30,000 input tokens per minute",
    "You exceeded your current quota. * Quota exceeded for metric: generate_content_free_tier_input_token_count, limit: 250000",
    "Requests to this operation have exceeded token rate limit of your current pricing tier. Please retry after 20 seconds.",
    "This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can only afford 3000.",
    "max_tokens is too large: 20480. This model supports at most 16384 completion tokens, whereas you provided 20480.",
    r#"{"error":{"message":"max_tokens is too large: 6000. This model supports at most 4096 completion tokens.","type":"invalid"}}"#,
    "max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens for claude-opus-4-20250514",
    "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for \
     this model",
    "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
    "The parameter `max_completion_tokens` specified in the request are not valid: integer above maximum value, expected a value \
     <= 12288, but got 32000 instead.",
    "Unable to submit request because it has a maxOutputTokens value of 100000 but the supported range is from 1 (inclusive) to \
     65537 (exclusive).",
    "`max_tokens` must be greater than `thinking.budget_tokens`",
    "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64, but got a string with length \
     80 instead.",
    "Invalid 'messages[1].content': string too long. Expected a string with maximum length 1048576, but got a string with length \
     1200000 instead.",
    "Invalid 'messages': array too long. Expected an array with maximum length 2048, but got an array with length 2100 instead.",
    "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes",
    "Audio duration 1504 seconds is longer than 1500 seconds which is the maximum for this model",
    "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    "The model `gpt-4-32k` does not exist or you do not have access to it.",
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    "thinking.budget_tokens: Input should be greater than or equal to 1024",
    "Number of request tokens has exceeded your per-minute rate limit",
    "Your organization has reached its daily token limit of 1000000",
    "You have exceeded the monthly token allowance of 500000 tokens",
    "context deadline exceeded (Client.Timeout exceeded while awaiting headers) after 30000",
    "The model returned too many images: 120. The maximum is 100",
    "tool_use ids were found without tool_result blocks immediately after: toolu_01A09q90qw90lq917835lq9",
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
        "too many tokens: size limit exceeded by 11326 tokens. Try using shorter or fewer inputs",
        "413 (no body)",
        "",
    ] {
        assert_eq!(named_window(text), None, "{text}");
    }
}

/// Bare, and inside of what a server wraps around it.
#[test]
fn what_names_a_window_is_an_overflow_whoever_says_it() {
    let texts = [
        ("The decoder prompt (length 9000) is longer than the maximum model length of 8192.", 8_192),
        (
            "The decoder prompt (length 17772) is longer than the maximum model length of 16384. Make sure that `max_model_len` is \
          no smaller than the number of text tokens plus multimodal tokens. For image inputs, the number of image tokens depends \
          on the number of images, and possibly their aspect ratios as well.",
            16_384,
        ),
        ("Request body too large for gpt-4o model. Max size: 8000 tokens.", 8_000),
        (
            "You passed 8193 input tokens and requested 1000 output tokens. However, the model's context length is only 8192 tokens, \
          resulting in a maximum input length of 7192 tokens.",
            8_192,
        ),
        (
            "You passed 8193 input tokens… the model's context length is only 8192 tokens, resulting in a maximum input length of \
          7192 tokens.",
            8_192,
        ),
        ("The model's context length is only 8192 tokens, but you requested 9000 tokens", 8_192),
        ("Current length is 8234 while limit is 8192", 8_192),
        ("Input tokens exceed the configured limit of 272000 tokens.", 272_000),
        (
            "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300112 tokens. Please reduce the \
          length of the messages.",
            272_000,
        ),
        ("Input prompt (35247 tokens) is too long and exceeds limit of 1000", 1_000),
        ("Input length (9000 tokens) exceeds the maximum allowed length (8192 tokens). Use a shorter input.", 8_192),
        ("Prompt length (9000) exceeds maximum input length (8192). Set log level to info.", 8_192),
        (
            "This endpoint's maximum context length is 131072 tokens. However, you requested about 200000 tokens (190000 of text \
          input, 10000 in the output). Please reduce the length of either one.",
            131_072,
        ),
        (
            "This model's maximum context length for gpt-3.5-turbo-16k is 16385 tokens, however you requested 20000 tokens",
            16_385,
        ),
        (
            "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, \
          10000 in the completion).",
            16_384,
        ),
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 16384 tokens and your \
          request has 9000 input tokens (8192 > 16384 - 9000).",
            16_384,
        ),
        (
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 32769. Given: 50000 `inputs` tokens and 512 \
          `max_new_tokens`",
            32_769,
        ),
        (
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
            32_768,
        ),
        ("Requested tokens (5000) exceed context window of 4096", 4_096),
        ("Total number of tokens 9000 exceeds the model limit (8192)", 8_192),
        ("The sequence length of 9000 tokens is greater than the maximum of 8k tokens", 8_000),
        ("context length of 8192 exceeded: 9000 tokens given", 8_192),
        ("request too large: 150000 tokens, maximum is 128000", 128_000),
        ("The conversation is too long: 210,500 tokens. The limit is 200,000 tokens.", 200_000),
        ("Prompt tokens (130000) exceed maximum of 128k", 128_000),
        ("input_tokens 9000 > max_input_tokens 8192", 8_192),
        ("messages exceed the model's max context of 131072 tokens (got 140000)", 131_072),
        (
            "Unable to submit request because the input token count is 1200000 but model only supports up to 1048576. Reduce the \
          input token count and try again.",
            1_048_576,
        ),
    ];
    for (text, window) in texts {
        let body = json!({"object": "error", "message": text, "type": "BadRequestError", "param": null, "code": 400});
        let wrapped = json!({"error": {"code": "tokens_limit_reached", "message": text, "details": text}});
        let raw = wrapped.to_string();
        let python =
            format!("Error code: 400 - {{'error': {{'message': \"{text}\", 'type': 'invalid_request_error'}}}}");
        let (body, wrapped) = (body.to_string(), wrapped.to_string());
        let said = [error_text(400, body.as_bytes()), error_text(413, wrapped.as_bytes())];
        for told in [text, &raw, &python, &text.to_lowercase()].into_iter().chain(said.iter().map(String::as_str)) {
            assert!(is_context_overflow(told), "{told}");
            assert_eq!(named_window(told), Some(window), "{told}");
            assert!(!is_context_overflow(&format!("{told} Limit is on tokens per minute.")), "{told}");
        }
    }
}
