use super::*;

const UNCACHED: CacheRates = CacheRates { read: 1.0, write: 1.0 };

fn turns(shed: u64, rewritten: u64, cost: Option<f64>, input: Option<f64>, cache: CacheRates) -> Option<f64> {
    net(ContextChange { shed, rewritten }, cost, &InputPrice { input, cache, is_known: true }).break_even_turns
}

#[test]
fn a_summary_pays_for_itself_by_what_is_no_longer_sent() {
    let turns = |shed, cost, price| turns(shed, 20_000, cost, price, UNCACHED);
    assert_eq!(turns(50_000, Some(0.05), Some(0.5)), Some(2.0));
    assert_eq!(turns(50_000, Some(0.0), None), Some(0.0));
    assert_eq!(turns(50_000, Some(0.05), None), None);
    assert_eq!(turns(50_000, Some(0.05), Some(0.0)), None);
    assert_eq!(turns(50_000, None, Some(0.5)), None);
    assert_eq!(turns(0, Some(0.0), Some(0.5)), None);
    let change = ContextChange { shed: 7, rewritten: 0 };
    assert_eq!(
        net(change, Some(0.05), &InputPrice { input: None, cache: UNCACHED, is_known: true }).summary_cost_usd,
        0.05
    );
}

/// 100,000 tokens become 20,000, of which 4,000 stand at the beginning as before. Worked out by hand: each turn read
/// 80,000 tokens more at a tenth of the price; 16,000 are written for 1.25 instead of read for 0.1.
#[test]
fn a_broken_prompt_cache_is_counted() {
    let cache = CacheRates { read: 0.1, write: 1.25 };
    let close = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 1e-9;
    assert!(close(turns(80_000, 16_000, Some(0.0), None, cache), 16_000.0 * 1.15 / 8_000.0));
    // A summary for 0.03 dollars, at 3 dollars a million: 10,000 tokens of input.
    assert!(close(turns(80_000, 16_000, Some(0.03), Some(3.0), cache), (10_000.0 + 18_400.0) / 8_000.0));
    let report = net(
        ContextChange { shed: 80_000, rewritten: 16_000 },
        Some(0.03),
        &InputPrice { input: Some(3.0), cache, is_known: true },
    );
    assert!(close(report.cache_cost_usd, 0.0552), "{report:?}");
}

#[test]
fn prices_are_found_by_upstream_and_by_model() {
    let priced = |model: &str, input, cached| {
        let price = Price { input, output: 1.0, cached, cache_write: None };
        Priced { model: Some(model.to_owned()), price: Some(price) }
    };
    let free = Priced { model: Some("m".into()), price: None };
    let claude = priced("claude-x", 4.0, Some(2.0));
    let prices = Prices {
        upstreams: [("a".to_owned(), priced("m", 0.5, None)), ("b".to_owned(), free), ("c".to_owned(), claude)].into(),
        default: Some("a".into()),
    };
    let input = |price: Option<Price>| price.map(|price| price.input);
    assert_eq!(input(prices.of_upstream(None)), Some(0.5));
    assert_eq!(input(prices.of_upstream(Some("b"))), None);
    assert_eq!(input(prices.of_upstream(Some("builtin"))), Some(0.0));
    assert_eq!((prices.of_model(Some("m")).input, prices.of_model(Some("n")).input), (Some(0.5), None));
    assert_eq!(prices.of_model(None).input, None);
    assert_eq!(prices.of_model(Some("claude-x")).cache, CacheRates { read: 0.5, write: 1.25 });
    let known = ["m", "n", "claude-y", ""].map(|model| prices.of_model(Some(model)).is_known);
    assert_eq!(known, [true, false, true, false]);
    assert_eq!(Prices::default().of_upstream(None), Some(Price::default()));
}

#[test]
fn a_summary_costs_what_its_upstream_takes_or_as_much_as_the_session_pays() {
    let dear = Price { input: 2.0, output: 10.0, cached: None, cache_write: None };
    let of = |sent, summary| {
        let sent = InputPrice { input: sent, ..InputPrice::default() };
        SessionPrices { sent, summary, asks_model: true }.of_summary(10_000, 1_000)
    };
    assert_eq!(of(Some(1.0), Some(dear)), 30_000.0);
    assert_eq!(of(None, Some(Price::default())), 0.0, "the builtin");
    for unknown in [of(None, Some(dear)), of(Some(1.0), None), of(Some(0.0), Some(dear))] {
        assert_eq!(unknown, 15_000.0);
    }
    let prices = Prices::default();
    let asked = |strategy| prices.of_session(None, strategy, Some("nobody")).summary;
    assert_eq!((asked(Strategy::Auto), asked(Strategy::Summarize)), (Some(Price::default()), Some(Price::default())));
}
