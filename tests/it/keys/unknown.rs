//! Keys that are none: asked for once, and few at a time.

use contextd::service::ops::keys::Keys;
use futures::future::join_all;
use sqlx::PgPool;

use crate::app::made_up_key as made_up;
use crate::patience::until;
use crate::pg_proxy::{Mode, Proxy};

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_key_is_looked_up_once_and_hides_none_that_is_made() {
    let database = Proxy::start().await;
    let pool = PgPool::connect(&database.url()).await.unwrap();
    let (keys, elsewhere) = (Keys::new(pool.clone()), Keys::new(pool));
    let good = keys.create("t", "a").await.unwrap();
    let wrong = made_up(&good, 1);
    assert!(keys.authenticate(&wrong).await.unwrap().is_none());
    for n in 0..20 {
        let made = elsewhere.create("t", &format!("made {n}")).await.unwrap();
        assert!(keys.authenticate(&made).await.unwrap().is_some(), "at once, though another process has made it");
        assert!(keys.authenticate(&wrong).await.unwrap().is_none());
    }
    // Where the database says nothing, only what is known is told.
    let wrong = made_up(&good, 2);
    assert!(keys.authenticate(&wrong).await.unwrap().is_none());
    database.set(Mode::Silent);
    assert!(keys.authenticate(&wrong).await.unwrap().is_none());
    assert!(keys.seen_lately(&good).is_none() && keys.seen_lately(&wrong).is_none(), "never seen good here");
    database.set(Mode::Pass);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_are_made_up_take_few_connections() {
    let database = Proxy::start().await;
    let pool = PgPool::connect(&database.url()).await.unwrap();
    let keys = Keys::new(pool.clone());
    let good = keys.create("t", "a").await.unwrap();
    assert!(keys.authenticate(&good).await.unwrap().is_some());
    // Each waits for its turn, however many there are.
    let wrong: Vec<String> = (0..300).map(|n| made_up(&good, n)).collect();
    assert!(
        join_all(wrong.iter().map(|key| keys.authenticate(key)))
            .await
            .into_iter()
            .all(|found| found.unwrap().is_none())
    );
    database.set(Mode::Silent);
    let flood = (1_000..1_300).map(|n| {
        let (keys, key) = (keys.clone(), made_up(&good, n));
        tokio::spawn(async move { keys.authenticate(&key).await })
    });
    let flood: Vec<_> = flood.collect();
    let in_use = || pool.size() as usize - pool.num_idle();
    until("they are looked up", async || in_use() >= 4).await;
    // Four at a time, and those that the pool opens in place of what no longer answers: most stay for others.
    let most = pool.options().get_max_connections() as usize;
    assert!(in_use() < most, "{} of {most} connections", in_use());
    assert!(keys.seen_lately(&good).is_some(), "who is known does not wait");
    flood.iter().for_each(tokio::task::JoinHandle::abort);
    database.set(Mode::Pass);
}
