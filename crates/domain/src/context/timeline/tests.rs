use super::*;

fn bend(depth: i64, path_tokens: i64, left: i64) -> Bend {
    let base = Base { path_tokens, summary: left, ..Base::default() };
    Bend { depth, base }
}

fn place(depth: i64, path_tokens: i64, usage: Option<i64>) -> Totals {
    Totals { depth, path_tokens, path_result_tokens: 0, usage }
}

#[test]
fn a_size_rests_on_the_compaction_before_it() {
    let leaf = Account { system: 10, ..Account::default() };
    let bends = [bend(5, 500, 60), bend(9, 900, 70)];
    let mut walk = Walk::new(&leaf, &bends);
    let estimator = Estimator::O200k;
    let sizes = [(4, 500), (5, 500), (6, 600), (9, 900), (10, 950)].map(|(depth, path)| {
        let account = walk.at(place(depth, path, None));
        let tokens = account.tokens(estimator).0;
        (tokens, walk.uncompacted(&account, tokens, estimator))
    });
    assert_eq!(sizes, [(510, 510), (70, 510), (170, 610), (80, 910), (130, 960)]);
}

#[test]
fn what_a_provider_told_holds_until_the_next_compaction() {
    let leaf = Account::default();
    let bends = [bend(5, 500, 60)];
    let mut walk = Walk::new(&leaf, &bends);
    let estimator = Estimator::O200k;
    let places = [place(3, 300, Some(400)), place(4, 350, None), place(5, 500, None)];
    assert_eq!(places.map(|place| walk.at(place).tokens(estimator).0), [400, 450, 60]);
}

#[test]
fn what_would_be_without_compactions_never_falls_whatever_a_replay_reports() {
    let leaf = Account { calibration: 1.1, ..Account::default() };
    let bends = [bend(5, 5_000, 600), bend(9, 9_000, 700)];
    let mut walk = Walk::new(&leaf, &bends);
    let estimator = Estimator::O200k;
    // A transcript that is played again reports the sizes of the context that it had, which was never compacted.
    let places = [
        place(2, 2_000, Some(2_500)),
        place(4, 4_500, Some(4_400)),
        place(5, 5_000, None),
        place(7, 7_000, Some(9_900)),
        place(9, 9_000, None),
        place(11, 11_000, None),
    ];
    let sizes = places.map(|place| {
        let account = walk.at(place);
        let tokens = account.tokens(estimator).0;
        (tokens, walk.uncompacted(&account, tokens, estimator))
    });
    let without = sizes.map(|(_, without)| without);
    assert!(without.is_sorted(), "{sizes:?}");
    assert!(sizes.iter().all(|(tokens, without)| without >= tokens), "{sizes:?}");
    assert_eq!(without, [2_500, 4_400, 4_950, 9_900, 12_100, 14_300]);
}

#[test]
fn buckets_cover_the_path_and_cut_at_compactions() {
    for (leaf, cuts, most) in [(99, vec![10, 50], 20), (5, vec![], 200), (30, vec![0, 30], 10), (-1, vec![], 10)] {
        let buckets = buckets(leaf, &cuts, most);
        assert!(buckets.len() <= most, "{buckets:?}");
        let covered: Vec<i64> = buckets.iter().flat_map(|bucket| bucket.from..=bucket.to).collect();
        assert_eq!(covered, (0..=leaf).collect::<Vec<_>>());
        assert!(cuts.iter().all(|cut| buckets.contains(&Bucket { from: *cut, to: *cut, to_the_end: true })));
    }
    let ends: Vec<i64> = buckets(99, &[10, 50], 20).iter().filter(|one| one.to_the_end).map(|one| one.to).collect();
    assert_eq!(ends, [9, 10, 49, 50, 99]);
}

#[test]
fn of_many_compactions_those_that_shed_most_are_shown() {
    let bends = [bend(5, 500, 60), bend(9, 600, 150), bend(20, 2_000, 80)];
    assert_eq!(sharpest(&bends, &Account::default(), 2), [5, 20]);
}
