//! Bringing the schema up to date beside others who use it. Whoever wants a table's strongest lock stands in line for it,
//! and everybody who comes later stands behind: so each try waits a moment only, and goes out of the way before the next.

use std::time::Duration;

use anyhow::Context;
use sqlx::migrate::MigrateError;
use sqlx::{ConnectOptions, Connection, PgConnection, PgPool};
use tokio::time::sleep;

use crate::backoff::{doubled, jittered};
use crate::store::MIGRATIONS;
use crate::store::checkup::{self, Holder};

/// How long a statement of a migration waits for a lock, and others behind it.
const LOCK_WAIT_MS: u32 = 300;
/// Pauses between tries: others work meanwhile.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Tries before it is given up, some ten minutes.
const TRIES: u32 = 120;

/// Applies what is missing, each migration in a transaction of its own. Processes that do so at once wait for each other.
pub(super) async fn migrate(pool: &PgPool) -> anyhow::Result<()> {
    for attempt in 1..=TRIES {
        let Err(error) = once(pool).await? else { return Ok(()) };
        if !is_lock_timeout(&error) || attempt == TRIES {
            return Err(error).context("migrating the database");
        }
        let pause = jittered(doubled(FIRST_PAUSE, LONGEST_PAUSE, attempt));
        tell(attempt, &checkup::longest_holders(pool).await.unwrap_or_default());
        sleep(pause).await;
    }
    Ok(())
}

/// One try, on a connection of its own: a migration takes the time that it takes. The outer error is the connection's.
async fn once(pool: &PgPool) -> anyhow::Result<Result<(), MigrateError>> {
    let mut connection = pool.connect_options().connect().await.context("connecting to the database")?;
    let outcome = match bounded(&mut connection).await {
        Ok(()) => MIGRATIONS.run_direct(None, &mut connection, false).await,
        Err(error) => Err(MigrateError::Execute(error)),
    };
    let _ = connection.close().await;
    Ok(outcome)
}

async fn bounded(connection: &mut PgConnection) -> sqlx::Result<()> {
    let set = sqlx::query("SELECT set_config('lock_timeout', $1, false)").persistent(false);
    set.bind(LOCK_WAIT_MS.to_string()).execute(connection).await.map(drop)
}

/// A try was in somebody's way, or somebody in its.
fn is_lock_timeout(error: &MigrateError) -> bool {
    const CODES: [&str; 2] = ["55P03", "40P01"];
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        let code =
            error.downcast_ref::<sqlx::Error>().and_then(sqlx::Error::as_database_error).and_then(|one| one.code());
        if code.is_some_and(|code| CODES.contains(&code.as_ref())) {
            return true;
        }
        cause = error.source();
    }
    false
}

fn tell(attempt: u32, holders: &[Holder]) {
    if holders.is_empty() {
        tracing::warn!(attempt, "the migration waits for a lock that another transaction held; trying again");
    }
    for Holder { pid, application, state, seconds, tables } in holders {
        tracing::warn!(
            attempt,
            pid,
            application,
            state,
            seconds,
            tables,
            "the migration waits for a transaction that holds tables; trying again"
        );
    }
}
