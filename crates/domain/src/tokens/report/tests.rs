use super::*;
use crate::settings::resolve;
use crate::tokens::accounting::Source;

mod recorded;

fn window(tokens: u32) -> Settings {
    let patch = serde_json::json!({"context_window": tokens});
    resolve(&serde_json::Map::new(), patch.as_object().unwrap(), None).unwrap()
}

/// The user says something of this size, and the agent answers.
fn turn(account: &mut Account, asked: i64, answered: i64) {
    account.path_tokens += asked;
    account.asked_since = true;
    account.path_calls += 1;
    account.answer_from = account.path_tokens;
    account.path_tokens += answered;
}

fn told(request: u64, answer: u64) -> Reported {
    Reported { request, answer }
}

fn tokens(account: &Account) -> (u64, Source) {
    account.tokens(Estimator::O200k)
}

/// The view that a compaction leaves behind the newest message, which is the user's or the agent's.
fn compact(account: &mut Account, left: i64, in_flight: bool) {
    let before = account.clone();
    account.rebase(left, 0, 0);
    account.take_place_of(&before, in_flight);
}

#[test]
fn usage_that_was_on_its_way_is_of_the_view_before() {
    let settings = window(40_000);
    let mut account = Account::default();
    turn(&mut account, 23_000, 137);
    compact(&mut account, 2_788, false);
    turn(&mut account, 20, 20);
    assert_eq!(account.report(told(33_000, 20), &settings), Verdict::Earlier);
    // 33,000 of 23,157 that were counted: the rest was never posted.
    assert_eq!(account.unposted, 9_843);
    assert_eq!(tokens(&account), (2_788 + 40 + 9_843, Source::Estimate));
}

#[test]
fn an_answer_on_its_way_is_known_though_the_new_view_was_handed_out() {
    let settings = window(100_000);
    let mut account = Account::default();
    turn(&mut account, 20_000, 100);
    account.report(told(30_000, 100), &settings);
    account.path_tokens += 40_000;
    compact(&mut account, 3_000, true);
    account.note_shown();
    turn(&mut account, 50, 100);
    assert_eq!(account.report(told(70_150, 100), &settings), Verdict::Earlier);
    turn(&mut account, 50, 100);
    assert_eq!(account.report(told(13_250, 100), &settings), Verdict::Believed(13_350));
    assert!((account.unposted - 10_050).abs() < 10 && tokens(&account).0 == 13_350, "{account:?}");
}

#[test]
fn whoever_asks_again_with_the_new_view_is_known_by_the_count_alone() {
    let settings = window(200_000);
    let mut account = Account::default();
    turn(&mut account, 20_000, 0);
    compact(&mut account, 10_000, true);
    account.note_shown();
    turn(&mut account, 0, 100);
    assert_eq!(account.report(told(10_000, 100), &settings), Verdict::Believed(10_100));
    assert_eq!((account.calibration, account.unposted), (1.0, 0));
}

#[test]
fn whoever_never_takes_a_context_goes_on_with_the_one_it_has() {
    let settings = window(1_000_000);
    let mut account = Account::default();
    turn(&mut account, 50_000, 500);
    compact(&mut account, 4_000, false);
    for n in 1..5 {
        turn(&mut account, 400, 100);
        let whole = 50_500 + n * 500;
        assert_eq!(account.report(told(5_000 + whole - 100, 100), &settings), Verdict::Earlier, "{n}");
        assert_eq!((account.unposted, tokens(&account).0), (5_000, 9_000 + n * 500));
    }
}

#[test]
fn what_the_client_never_posts_is_a_constant() {
    let settings = window(200_000);
    let mut account = Account::default();
    let bill = |count: i64| (25_000.0 + 1.31 * count as f64).round() as u64;
    for _ in 0..6 {
        turn(&mut account, 9_000, 1_000);
        let (before, now) = (account.answer_from, account.path_tokens);
        account.report(told(bill(before), bill(now) - bill(before)), &settings);
    }
    assert!((account.calibration - 1.31).abs() < 0.01, "{}", account.calibration);
    assert!((account.unposted - 25_000).abs() < 500, "{}", account.unposted);
    compact(&mut account, 5_000, false);
    let after = tokens(&account).0;
    assert!(after.abs_diff(bill(5_000)) < 600, "{after}");
    let parts = account.breakdown(after, Estimator::O200k);
    assert_eq!(parts.unposted + parts.summary + parts.messages + parts.tool_results, after);
}

#[test]
fn what_cannot_be_is_not_believed() {
    let settings = window(200_000);
    let mut account = Account::default();
    turn(&mut account, 18_000, 30);
    let less = account.report(told(30, 30), &settings);
    assert_eq!(less, Verdict::Rejected(Disbelief::Less { than: 18_000 }));
    assert_eq!(tokens(&account), (18_030, Source::UsageRejected));
    assert!(matches!(account.report(told(927_907, 30), &settings), Verdict::Rejected(Disbelief::More { .. })));
    assert_eq!(account.report(told(20_000, 30), &settings), Verdict::Believed(20_030));
    assert_eq!(tokens(&account), (20_030, Source::Usage));
    // Of a window that is but guessed, twice as much may be true.
    let guessed = Settings { window_source: WindowSource::Guess, ..window(15_000) };
    let mut account = Account::default();
    turn(&mut account, 18_000, 30);
    assert_eq!(account.report(told(29_000, 30), &guessed), Verdict::Believed(29_030));
    assert!(matches!(account.report(told(30_000, 30), &guessed), Verdict::Rejected(_)));
}

#[test]
fn a_first_unposted_part_that_the_next_mark_denies_is_dropped_with_it() {
    let settings = window(100_000);
    let mut account = Account::default();
    turn(&mut account, 2_000, 100);
    assert_eq!(account.report(told(33_000, 100), &settings), Verdict::Believed(33_100));
    assert_eq!(account.unposted, 31_000);
    turn(&mut account, 100, 100);
    assert_eq!(account.report(told(2_500, 100), &settings), Verdict::Rejected(Disbelief::Contradicts));
    assert_eq!((account.unposted, account.calibration), (0, 1.0));
    assert_eq!(tokens(&account), (2_300, Source::UsageRejected));
    turn(&mut account, 100, 100);
    assert_eq!(account.report(told(2_700, 100), &settings), Verdict::Believed(2_800));
}

#[test]
fn one_absurd_mark_among_good_ones_is_forgotten_with_the_next() {
    let settings = window(200_000);
    let mut account = Account::default();
    for n in 0..3 {
        turn(&mut account, 900, 100);
        account.report(told(6_000 + n * 1_000 - 100, 100), &settings);
    }
    turn(&mut account, 900, 100);
    account.report(told(60_000, 100), &settings);
    assert_eq!(tokens(&account).0, 60_100, "it is safer to be early");
    turn(&mut account, 900, 100);
    assert_eq!(account.report(told(9_900, 100), &settings), Verdict::Believed(10_000));
    assert_eq!(account.unposted, 5_000);
}

#[test]
fn parts_of_one_answer_tell_of_one_request() {
    let settings = window(200_000);
    let mut account = Account::default();
    turn(&mut account, 10_000, 20);
    account.report(told(30_000, 5), &settings);
    // A result between the parts, and the rest of the answer: the same figures, told before the answer was whole.
    account.path_tokens += 500;
    account.path_calls += 1;
    account.answer_from = account.path_tokens;
    account.path_tokens += 80;
    account.report(told(30_000, 5), &settings);
    assert_eq!(tokens(&account).0, 30_000 + 100 + 500);
    assert_eq!(account.calibration, 1.0);
}

#[test]
fn an_account_of_an_older_version_is_brought_up_to_date() {
    let stored = serde_json::json!({"path_tokens": 12_000, "usage": {"tokens": 35_000, "path_tokens": 11_000},
        "calibration": 2.0});
    let mut account: Account = serde_json::from_value(stored).unwrap();
    account.upgrade(Estimator::O200k);
    assert_eq!((account.unposted, account.calibration), (24_000, 1.0));
    assert_eq!(tokens(&account), (36_000, Source::Usage));
    let again: Account = serde_json::from_str(&serde_json::to_string(&account).unwrap()).unwrap();
    assert_eq!(again, account);
}

/// A client that posts one and the same usage with every turn: as long as it is more than half of what is counted it may be
/// true, and a factor is learnt from it; once it can't be, that factor goes too, or the context would overflow unseen.
#[test]
fn a_factor_learnt_from_usage_that_stopped_being_true_is_forgotten() {
    let settings = window(4_000);
    let mut account = Account::default();
    for _ in 0..16 {
        turn(&mut account, 100, 80);
        let _ = account.report(told(1_212, 310), &settings);
    }
    assert_eq!(account.calibration, 1.0);
    assert_eq!(tokens(&account), (16 * 180, Source::UsageRejected));
}

/// Usage of an earlier, smaller request that comes with what was posted since: believed, it would hide half of the context.
#[test]
fn usage_that_says_much_less_than_was_learnt_has_to_come_twice() {
    let settings = window(200_000);
    let learnt = || {
        let mut account = Account::default();
        for n in 1..5 {
            turn(&mut account, 5_000, 100);
            assert!(matches!(account.report(told(12_000 + n * 6_000, 100), &settings), Verdict::Believed(_)));
        }
        account
    };
    // Late: it is not believed, nor when the same figure comes with more, and what was learnt stays.
    let mut account = learnt();
    let (factor, unposted) = (account.calibration, account.unposted);
    turn(&mut account, 50_000, 100);
    for _ in 0..2 {
        assert_eq!(account.report(told(45_000, 100), &settings), Verdict::Rejected(Disbelief::Contradicts));
        assert_eq!((account.calibration, account.unposted), (factor, unposted));
        assert!(tokens(&account).0 > 85_000, "{:?}", tokens(&account));
        turn(&mut account, 10_000, 100);
    }
    // Another provider, or fewer tools than nobody posted: the next request says so too.
    let mut account = learnt();
    turn(&mut account, 50_000, 100);
    assert_eq!(account.report(told(45_000, 100), &settings), Verdict::Rejected(Disbelief::Contradicts));
    turn(&mut account, 2_000, 100);
    assert_eq!(account.report(told(46_100, 100), &settings), Verdict::Believed(46_200));
}
