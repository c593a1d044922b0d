//! The database: can it be reached, is it new enough, are its schema and its rights what is needed, does its clock agree?

use std::time::Duration;

use chrono::TimeDelta;
use sqlx::PgPool;

use super::finding::Finding;
use crate::config::Config;
use crate::lifecycle::{Database, embedded_postgres};
use crate::service::core::clock;
use crate::store;
use crate::store::checkup::{self, ServerRow};

const CHECK: &str = "database";
/// The oldest PostgreSQL that is known to do.
const OLDEST: i32 = 150_000;
/// Clocks that are further apart confuse what is read; still further, what is kept.
const SKEW_SEEN: TimeDelta = TimeDelta::seconds(1);
const SKEW_MOST: TimeDelta = TimeDelta::seconds(30);
const CLOSE_WITHIN: Duration = Duration::from_secs(30);

pub async fn look(config: &Config) -> Vec<Finding> {
    if config.database.url.is_none() && !config.data_dir.join("postgres").exists() {
        return vec![programs(config)];
    }
    let database = match Database::open(config).await {
        Ok(database) => database,
        Err(error) => {
            let advice = Database::remedy(&error).unwrap_or_else(|| advice(config));
            return vec![Finding::fail(CHECK, format!("{error:#}"), advice)];
        }
    };
    let findings = asked(database.pool(), config, database.is_embedded()).await;
    database.close(CLOSE_WITHIN).await;
    findings
}

fn advice(config: &Config) -> &'static str {
    match config.database.url {
        Some(_) => "see that DATABASE_URL is right, and that its server runs and lets this user in",
        None => {
            "README.md says where PostgreSQL's programs are looked for; postgres.log in the data directory says more"
        }
    }
}

/// Nothing was started here yet, and a doctor starts nothing.
fn programs(config: &Config) -> Finding {
    match embedded_postgres::programs(&config.data_dir, config.database.pg_bin.as_deref()) {
        Ok(folder) => Finding::ok(CHECK, format!("the first start makes one with {}", folder.display())),
        Err(error) => Finding::fail(CHECK, error.to_string(), advice(config)),
    }
}

async fn asked(pool: &PgPool, config: &Config, is_embedded: bool) -> Vec<Finding> {
    let before = clock::now();
    let server = match checkup::server(pool).await {
        Ok(server) => server,
        Err(error) => return vec![Finding::fail(CHECK, error.to_string(), advice(config))],
    };
    let after = clock::now();
    let middle = before + (after - before) / 2;
    vec![
        version(&server),
        schema(pool, &server, is_embedded).await,
        rights(pool).await,
        room(&server, config),
        skew(server.now - middle, (after - before) / 2),
    ]
}

fn version(server: &ServerRow) -> Finding {
    let found = format!("PostgreSQL {}", server.version);
    if server.version_num < OLDEST {
        return Finding::fail(CHECK, found, "PostgreSQL 15 or newer is needed");
    }
    if server.is_read_only {
        return Finding::fail(CHECK, format!("{found} takes no changes"), "name its primary in DATABASE_URL");
    }
    Finding::ok(CHECK, found)
}

async fn schema(pool: &PgPool, server: &ServerRow, is_embedded: bool) -> Finding {
    const CHECK: &str = "schema";
    let missing = match store::missing_migrations(pool).await {
        Ok(missing) => missing,
        Err(error) => return Finding::fail(CHECK, error.to_string(), "the user must be able to read _sqlx_migrations"),
    };
    let found = format!("{missing} migrations of this version are missing");
    match missing {
        0 => Finding::ok(CHECK, "up to date"),
        _ if is_embedded => Finding::ok(CHECK, format!("{found}; the next start applies them")),
        _ if server.may_create => Finding::fail(CHECK, found, "run `contextd migrate`"),
        _ => Finding::fail(
            CHECK,
            format!("{found}, and this user may make no tables"),
            "run `contextd migrate` as the owner of the schema",
        ),
    }
}

async fn rights(pool: &PgPool) -> Finding {
    const CHECK: &str = "rights";
    match checkup::closed_tables(pool).await {
        Ok(closed) if closed.is_empty() => Finding::ok(CHECK, "all tables can be read and changed"),
        Ok(closed) => {
            let advice = "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA … TO this user";
            Finding::fail(CHECK, format!("this user may not read and change {}", closed.join(", ")), advice)
        }
        Err(error) => Finding::fail(CHECK, error.to_string(), "the user must be able to read the catalogue"),
    }
}

fn room(server: &ServerRow, config: &Config) -> Finding {
    const CHECK: &str = "connections";
    let (all, ours) = (server.max_connections, config.database.max_connections);
    let found = format!("{ours} for this process, of the server's {all}");
    match i64::from(ours) > i64::from(all) - 3 {
        true => Finding::warn(CHECK, found, "lower database.max_connections: the server keeps some for its owner"),
        false => Finding::ok(CHECK, found),
    }
}

/// `ahead`: how far the server's clock is, known to within `margin`.
fn skew(ahead: TimeDelta, margin: TimeDelta) -> Finding {
    const CHECK: &str = "clocks";
    let apart = (ahead.abs() - margin).max(TimeDelta::zero());
    let found = format!("the database's and this host's are {} ms apart", apart.num_milliseconds());
    let advice = "keep both in time (NTP): ages, leases and events are told by them";
    if apart > SKEW_MOST {
        Finding::fail(CHECK, found, advice)
    } else if apart > SKEW_SEEN {
        Finding::warn(CHECK, found, advice)
    } else {
        Finding::ok(CHECK, found)
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Verdict;
    use super::*;

    #[test]
    fn clocks_are_compared_within_what_is_known() {
        let verdict =
            |ahead: i64, margin: i64| skew(TimeDelta::milliseconds(ahead), TimeDelta::milliseconds(margin)).verdict;
        assert_eq!(
            (verdict(900, 0), verdict(-1_500, 800), verdict(-1_500, 0)),
            (Verdict::Ok, Verdict::Ok, Verdict::Warn)
        );
        assert_eq!(verdict(-40_000, 5), Verdict::Fail);
    }
}
