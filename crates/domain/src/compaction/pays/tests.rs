use super::*;
use crate::summary::testing;
use crate::tokens::prices::{CacheRates, InputPrice, Price};

fn prices(read: f64, write: f64) -> SessionPrices {
    let sent = InputPrice { input: None, cache: CacheRates { read, write }, is_known: true };
    SessionPrices { sent, summary: Some(Price::default()), asks_model: true }
}

const FIVE_MINUTES: (f64, f64) = (0.1, 1.25);

fn settings() -> Settings {
    Settings {
        context_window: 200_000,
        reserve_tokens: 16_384,
        keep_recent_tokens: 16_384,
        red_at: Some(0.8),
        pays_at: Some(0.0),
        strategy: Strategy::Summarize,
        min_savings_pct: 10.0,
        ..testing::settings()
    }
}

/// A context that has grown by so much in so many calls behind a system prompt of 8,000.
fn grown(tokens: i64, calls: i64) -> Account {
    Account { system: 8_000, path_tokens: tokens, path_calls: calls, ..Account::default() }
}

/// Bill of calls that add `growth` tokens each, compacted as the rule says.
fn bill(prices: &SessionPrices, growth: i64, calls: usize, compacts: impl Fn(&Account) -> bool) -> f64 {
    let mut account = grown(0, 0);
    let mut bill = 0.0;
    for _ in 0..calls {
        account.path_tokens += growth;
        account.path_calls += 1;
        if compacts(&account) {
            let expected = Expected::of(&account, &settings());
            bill += expected.once(prices);
            let behind = i64::try_from(expected.rewritten).unwrap();
            account.rebase(4_000, behind - 4_000, 0);
        }
        bill += prices.sent.cache.read * size(&account) as f64;
    }
    bill
}

/// Against every fixed size at which a context could be compacted instead.
#[test]
fn when_it_pays_is_as_cheap_as_the_best_size() {
    for (rates, growth) in [(FIVE_MINUTES, 1_800), (FIVE_MINUTES, 300), ((0.1, 1.0), 5_000), ((0.5, 1.0), 1_800)] {
        let prices = prices(rates.0, rates.1);
        let by_size = |most: u64| bill(&prices, growth, 1_000, |account| size(account) >= most);
        let best = (32_000..=180_000).step_by(2_000).map(by_size).fold(f64::MAX, f64::min);
        let rule = bill(&prices, growth, 1_000, |account| is_due(account, size(account), &settings(), &prices));
        assert!(rule <= best * 1.03, "{rates:?}, {growth} a call: {rule} against {best}");
        let at_red = by_size(147_000);
        assert!(rule < at_red * 0.9, "{rates:?}, {growth} a call: {rule} against {at_red} at red");
    }
}

#[test]
fn nothing_is_due_before_red_unless_asked_for() {
    let (prices, account) = (prices(0.1, 1.25), grown(120_000, 60));
    let due = |pays_at| is_due(&account, size(&account), &Settings { pays_at, ..settings() }, &prices);
    assert_eq!([None, Some(0.9), Some(0.5)].map(due), [false, false, true]);
    assert!(!is_due(&grown(120_000, 0), 128_000, &settings(), &prices), "no call has carried it yet");
}

/// Where nothing is cached, every token that is shed is saved at once.
#[test]
fn what_saves_too_little_never_pays() {
    let due = |tokens, prices| is_due(&grown(tokens, 500), tokens as u64 + 8_000, &settings(), &prices);
    let uncached = prices(1.0, 1.0);
    assert!(!due(20_000, uncached), "hardly anything would go");
    assert!(due(40_000, uncached));
}

/// A summary that costs something is due later, and one of an upstream without a price is taken to cost what the session pays.
#[test]
fn a_dear_summary_pays_later() {
    let settings = Settings { strategy: Strategy::LlmSummarize, ..settings() };
    let first = |summary| {
        let prices = SessionPrices { summary, ..prices(0.1, 1.25) };
        let due = |calls: &i64| is_due(&grown(calls * 1_800, *calls), 8_000, &settings, &prices);
        (1..200).find(due).unwrap()
    };
    let free = first(Some(Price::default()));
    assert!(free < first(None), "{free} calls");
}

#[test]
fn masking_is_expected_to_leave_the_talk() {
    let settings = Settings { strategy: Strategy::Mask, ..settings() };
    let mut account = Account { path_result_tokens: 80_000, ..grown(100_000, 50) };
    let expected = Expected { after: 28_000, rewritten: 20_000, summary: (0, 0) };
    assert_eq!(Expected::of(&account, &settings), expected);
    // What was masked before stays as it is.
    account.rebase(0, 20_000, 0);
    (account.path_tokens, account.path_result_tokens) = (150_000, 120_000);
    let expected = Expected { after: 38_000, rewritten: 10_000, summary: (0, 0) };
    assert_eq!(Expected::of(&account, &settings), expected);
}

#[test]
fn masking_has_to_pay_before_the_context_is_red_again() {
    let account = grown(140_000, 70);
    let settings = Settings { pays_at: None, ..settings() };
    let summarised = Expected { after: 30_000, rewritten: 22_000, summary: (120_000, 4_000) };
    let elides = |after, rewritten| {
        let elided = Expected { after, rewritten, summary: (0, 0) };
        elides(&account, &settings, &prices(0.1, 1.25), &elided, &summarised)
    };
    assert!(elides(60_000, 52_000), "52,000 written anew are worth 88,000 less for 43 calls");
    assert!(!elides(120_000, 112_000), "112,000 written anew for 28,000 less in 13 calls");
    assert!(elides(120_000, 10_000), "the beginning stands");
}

#[test]
fn where_money_counts_the_cheaper_step_is_taken() {
    let account = grown(60_000, 30);
    let elided = Expected { after: 36_000, rewritten: 28_000, summary: (0, 0) };
    let summarised = Expected { after: 30_000, rewritten: 22_000, summary: (40_000, 4_000) };
    let elides = |summary| {
        let prices = SessionPrices { summary, ..prices(0.1, 1.25) };
        elides(&account, &settings(), &prices, &elided, &summarised)
    };
    assert!(!elides(Some(Price::default())) && elides(None));
}

#[test]
fn a_compaction_that_comes_too_soon_is_a_loss() {
    let known = prices(0.1, 1.25);
    let mut account = grown(100_000, 50);
    assert!(!is_loss(&account, Some(60.0), &known), "there was none before it");
    account.rebase(4_000, 16_000, 0);
    (account.path_tokens, account.path_calls) = (110_000, 55);
    assert!(is_loss(&account, Some(5.1), &known) && !is_loss(&account, Some(5.0), &known));
    assert!(!is_loss(&account, None, &known));
    let assumed = SessionPrices::default();
    assert!(!is_loss(&account, Some(60.0), &assumed));
}
