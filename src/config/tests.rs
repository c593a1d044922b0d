use std::io::Write;

use secrecy::ExposeSecret;

use super::*;

fn load(file: &str, env: &[(&str, &str)], overrides: Overrides) -> Result<Config, ConfigError> {
    let mut path = tempfile::NamedTempFile::new().unwrap();
    path.write_all(file.as_bytes()).unwrap();
    let variable = |name: &str| env.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    Config::load_with(Some(path.path()), variable, overrides)
}

fn refusal(file: &str, env: &[(&str, &str)], overrides: Overrides) -> String {
    load(file, env, overrides).unwrap_err().to_string()
}

#[test]
fn the_defaults_are_whole() {
    let config = Config::load_with(None, |_| None, Overrides::default()).unwrap();
    assert_eq!(config.limits, LimitsConfig { max_body_bytes: 33_554_432, max_items: 1000, max_depth: 64 });
    assert_eq!((config.server.buffered(33_554_432), config.server.buffered_per_tenant(33_554_432)), (1 << 28, 1 << 27));
    assert_eq!(config.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(config.upstreams.len(), 1);
    assert_eq!(config.upstreams[0].kind, UpstreamKindSetting::Builtin);
    assert_eq!(config.lease(), Duration::from_secs(30));
}

/// The book's chapter on it is what people copy from.
#[test]
fn the_book_tells_the_defaults_and_every_variable() {
    let chapter =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/book/src/configuring.md")).unwrap();
    let (_, file) = chapter.split_once("```toml\n").unwrap();
    let (file, _) = file.split_once("```").unwrap();
    let told = load(file, &[], Overrides::default()).unwrap();
    assert_eq!(told.upstreams.len(), 3);
    let told = Config { upstreams: Vec::new(), ..told };
    assert_eq!(format!("{told:#?}"), format!("{:#?}", Config::default()));
    let named = |name: &str| chapter.contains(&format!("`{name}`")) || chapter.contains(&format!("\n{name}="));
    let untold: Vec<String> = Config::variables().into_iter().filter(|name| !named(name)).collect();
    assert_eq!(untold, Vec::<String>::new());
}

#[test]
fn file_then_environment_then_command_line() {
    let file = "listen = \"127.0.0.1:1\"\nrole = \"api\"\n[limits]\nmax_items = 5\nmax_depth = 6\n";
    let overrides = Overrides { listen: Some("127.0.0.1:3".parse().unwrap()), ..Overrides::default() };
    let env = [("CONTEXTD_LISTEN", "127.0.0.1:2"), ("CONTEXTD_MAX_ITEMS", "7"), ("CONTEXTD_ROLE", "")];
    let config = load(file, &env, overrides).unwrap();
    assert_eq!(config.listen.port(), 3);
    assert_eq!((config.limits.max_items, config.limits.max_depth), (7, 6));
    assert_eq!(config.role, ProcessRole::Api);
}

#[test]
fn times_and_bounds_are_checked() {
    let env = [("CONTEXTD_HEADER_TIMEOUT_MS", "5"), ("CONTEXTD_MAX_BUFFERED_BYTES", "40000000")];
    let config = load("[server]\nheader_timeout_ms = 4\nidle_timeout_ms = 6\n", &env, Overrides::default()).unwrap();
    assert_eq!((config.server.header_timeout_ms, config.server.idle_timeout_ms), (5, 6));
    assert_eq!(config.server.buffered_per_tenant(33_554_432), 40_000_000);
    for (file, name) in [
        ("[server]\nbody_timeout_ms = 0", "server.body_timeout_ms"),
        ("[server]\nbackground_nice = 20", "server.background_nice"),
        ("[server]\nui_secret = \"short\"", "server.ui_secret"),
        ("[server]\nmetrics_key = \"fifteen letters\"", "server.metrics_key"),
        ("[server]\nmetrics_key = \"a key with spaces in it\"", "server.metrics_key"),
        ("[server]\nmax_buffered_bytes = 1", "server.max_buffered_bytes"),
        ("[server]\nmax_buffered_bytes_per_tenant = 1", "server.max_buffered_bytes_per_tenant"),
        ("[database]\nstatement_timeout_ms = 0", "database.statement_timeout_ms"),
        ("[database]\nlock_timeout_ms = 4000000000", "database.lock_timeout_ms"),
        ("shutdown_ms = 0", "shutdown_ms"),
    ] {
        assert!(refusal(file, &[], Overrides::default()).starts_with(name), "{file}");
    }
}

#[test]
fn unknown_keys_are_refused_by_name() {
    for file in ["nonsense = 1", "[limits]\nnonsense = 1", "[[upstreams]]\nnonsense = 1"] {
        assert!(refusal(file, &[], Overrides::default()).contains("nonsense"), "{file}");
    }
    assert!(refusal("[settings]\nnonsense = 1", &[], Overrides::default()).contains("settings.nonsense"));
}

#[test]
fn server_wide_settings_are_checked_like_a_sessions() {
    let config = load("[settings]\nyellow_at = 0.5\npreset = \"chat\"", &[], Overrides::default()).unwrap();
    assert_eq!(config.settings.len(), 2);
    assert!(refusal("[settings]\nyellow_at = 2.0", &[], Overrides::default()).contains("settings.yellow_at"));
}

#[test]
fn the_environment_describes_the_default_upstream() {
    let file = "[[upstreams]]\nname = \"big\"\nkind = \"anthropic\"\nmodel = \"m\"\n";
    let env = [
        ("CONTEXTD_UPSTREAM_KIND", "openai_responses"),
        ("CONTEXTD_UPSTREAM_MODEL", "gpt-x"),
        ("CONTEXTD_UPSTREAM_API_KEY", "12345"),
        ("CONTEXTD_UPSTREAM_CONTEXT_WINDOW", "4096"),
        ("CONTEXTD_UPSTREAM_TIMEOUT_MS", "1000"),
        ("DATABASE_URL", "postgres://somewhere/db"),
    ];
    let config = load(file, &env, Overrides::default()).unwrap();
    let default = &config.upstreams[0];
    assert_eq!((default.name.as_str(), default.kind), ("default", UpstreamKindSetting::OpenaiResponses));
    assert_eq!(default.api_key.as_ref().unwrap().expose_secret(), "12345");
    assert_eq!((default.context_window, default.timeout_ms), (Some(4096), 1000));
    assert_eq!(config.upstreams[1].name, "big");
    assert!(config.database.url.is_some());
}

#[test]
fn wrong_environment_values_name_their_variable() {
    for (name, value) in [
        ("CONTEXTD_MAX_ITEMS", "many"),
        ("CONTEXTD_ROLE", "boss"),
        ("CONTEXTD_UPSTREAM_KIND", "oracle"),
        ("CONTEXTD_UPSTREAM_CONTEXT_WINDOW", "-1"),
    ] {
        assert!(refusal("", &[(name, value)], Overrides::default()).starts_with(name), "{name}");
    }
}

#[test]
fn dev_stays_on_loopback() {
    let overrides = |listen: &str| Overrides { dev: true, listen: Some(listen.parse().unwrap()), ..Default::default() };
    assert!(load("", &[], overrides("127.0.0.1:0")).is_ok());
    assert!(load("", &[], overrides("[::1]:0")).is_ok());
    assert!(refusal("", &[], overrides("0.0.0.0:8080")).contains("loopback"));
}

#[test]
fn a_lease_outlives_the_slowest_upstream() {
    let upstream = "[[upstreams]]\nkind = \"openai\"\nmodel = \"m\"\ntimeout_ms = 60000\n";
    assert_eq!(load(upstream, &[], Overrides::default()).unwrap().lease(), Duration::from_secs(75));
    let lease = |ms: u64| format!("[worker]\nlease_ms = {ms}\n{upstream}");
    assert!(load(&lease(75_000), &[], Overrides::default()).is_ok());
    assert!(refusal(&lease(74_999), &[], Overrides::default()).starts_with("worker.lease_ms"));
}

#[test]
fn upstreams_are_checked_together() {
    let two = |a: &str, b: &str| format!("[[upstreams]]\nname = \"a\"\n{a}\n[[upstreams]]\nname = \"b\"\n{b}\n");
    assert!(load(&two("", ""), &[], Overrides::default()).is_ok());
    assert!(refusal(&two("", "name = \"a\""), &[], Overrides::default()).contains("duplicate"));
    let twice = "[[upstreams]]\nname = \"a\"\n[[upstreams]]\nname = \"a\"\n";
    assert!(refusal(twice, &[], Overrides::default()).contains("twice"));
    assert!(refusal("[[upstreams]]\nkind = \"openai\"\n", &[], Overrides::default()).contains("model"));
}

#[test]
fn options_of_upstreams_are_checked() {
    let one = |line: &str| format!("[[upstreams]]\nname = \"a\"\nkind = \"openai\"\nmodel = \"m\"\n{line}\n");
    for fine in
        ["reasoning_effort = \"low\"", "fallbacks = [\"builtin\"]", "reuse_prefix = true", "requests_per_minute = 9"]
    {
        assert!(load(&one(fine), &[], Overrides::default()).is_ok(), "{fine}");
    }
    for (bad, field) in [
        ("reasoning_effort = \"much\"", "reasoning_effort"),
        ("thinking_budget_tokens = 2000", "thinking_budget_tokens"),
        ("temperature = 3.0", "temperature"),
        ("requests_per_minute = 0", "requests_per_minute"),
        ("max_output_tokens = 0", "max_output_tokens"),
        ("max_calls = 0", "max_calls"),
        ("price_input_per_mtok = -1.0", "price"),
        ("price_output_per_mtok = 1.0", "price"),
        ("fallbacks = [\"b\"]", "upstreams.a.fallbacks"),
        ("fallbacks = [\"a\"]", "upstreams.a.fallbacks"),
        ("fallbacks = [\"builtin\", \"builtin\"]", "upstreams.a.fallbacks"),
        ("fallback = \"b\"", "fallback"),
    ] {
        assert!(refusal(&one(bad), &[], Overrides::default()).contains(field), "{bad}");
    }
}

#[test]
fn secrets_do_not_show_in_debug_output() {
    let env = [("CONTEXTD_UPSTREAM_API_KEY", "sk-hidden"), ("DATABASE_URL", "postgres://u:hidden@h/d")];
    let config = load("", &env, Overrides::default()).unwrap();
    assert!(!format!("{config:?}").contains("hidden"));
}
