use crate::service::core::feed::*;

const TENANT: Tenant = Tenant(Uuid::nil());
const MINE: Uuid = Uuid::from_u128(1);
const OTHER: Uuid = Uuid::from_u128(2);

fn live(version: i64) -> Option<Arc<Live>> {
    Some(Arc::new(Live { version, data: "{}".to_owned() }))
}

/// Looks after the tenant and finds this.
fn look(feed: &Feed, last_position: i64, changed: &[(Uuid, i64)], sessions: &[(Uuid, Option<Arc<Live>>)]) {
    for (tenant, watched) in feed.take_due() {
        let found = TenantNews {
            last_position,
            changed: changed.iter().copied().collect(),
            sessions: sessions.iter().cloned().collect(),
        };
        feed.tell(tenant, &watched, &found);
    }
}

fn has_news(subscription: &Subscription) -> bool {
    subscription.news.has_changed().unwrap()
}

#[test]
fn a_stream_hears_of_its_own_session_only_and_the_tenants_of_all() {
    let feed = Arc::new(Feed::default());
    let mut mine = feed.subscribe(TENANT, Some(MINE), 9).unwrap();
    let mut all = feed.subscribe(TENANT, None, 9).unwrap();
    look(&feed, 3, &[], &[(MINE, None)]);
    assert_eq!((mine.news().position, all.news().position), (3, 3), "the first look tells all");
    feed.announce(Some(TENANT));
    look(&feed, 4, &[(OTHER, 4)], &[(MINE, None)]);
    assert!(!has_news(&mine) && has_news(&all));
    feed.touch(TENANT, MINE);
    look(&feed, 4, &[], &[(MINE, live(7))]);
    assert_eq!(mine.news().newest.unwrap().version, 7);
    assert_eq!(all.news().position, 4);
}

#[test]
fn news_add_up_for_a_stream_that_is_not_read() {
    let feed = Arc::new(Feed::default());
    let mut mine = feed.subscribe(TENANT, Some(MINE), 9).unwrap();
    for version in 1..100 {
        feed.touch(TENANT, MINE);
        look(&feed, version, &[(MINE, version)], &[(MINE, live(version))]);
    }
    feed.announce(None);
    look(&feed, 99, &[], &[(MINE, None)]);
    let news = mine.news();
    assert_eq!((news.position, news.newest.unwrap().version, news.gone), (99, 99, false));
    feed.announce(None);
    look(&feed, 99, &[], &[]);
    assert!(mine.news().gone, "a session that is not found was erased");
}

#[test]
fn a_session_that_was_not_asked_for_is_not_taken_for_erased() {
    let feed = Arc::new(Feed::default());
    let _first = feed.subscribe(TENANT, None, 9).unwrap();
    let (tenant, watched) = feed.take_due().remove(0);
    let mut late = feed.subscribe(TENANT, Some(MINE), 9).unwrap();
    feed.tell(tenant, &watched, &TenantNews { last_position: 5, ..TenantNews::default() });
    assert!(!late.news().gone);
}

#[test]
fn places_are_limited_and_given_back() {
    let feed = Arc::new(Feed::default());
    let one = feed.subscribe(TENANT, None, 2).unwrap();
    let _two = feed.subscribe(TENANT, Some(MINE), 2).unwrap();
    assert!(feed.subscribe(TENANT, None, 2).is_none());
    assert!(feed.subscribe(Tenant(OTHER), None, 2).is_some(), "another tenant has its own");
    drop(one);
    let _three = feed.subscribe(TENANT, None, 2).unwrap();
    assert_eq!(feed.open.load(Ordering::Relaxed), 2);
}

#[test]
fn what_nobody_watches_is_not_looked_after() {
    let feed = Arc::new(Feed::default());
    feed.touch(TENANT, MINE);
    feed.announce(Some(TENANT));
    assert!(feed.take_due().is_empty());
    let _all = feed.subscribe(TENANT, None, 9).unwrap();
    assert_eq!(feed.take_due().len(), 1);
    feed.touch(TENANT, MINE);
    assert!(feed.take_due().is_empty(), "the tenant's stream shows no snapshots of its own");
}

#[tokio::test]
async fn closing_ends_all() {
    let feed = Arc::new(Feed::default());
    let mut all = feed.subscribe(TENANT, None, 9).unwrap();
    feed.close();
    assert!(!all.has_news().await);
    assert!(feed.subscribe(TENANT, None, 9).unwrap().is_closed());
}
