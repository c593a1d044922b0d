//! API keys, where the service runs: the way to the first key that may manage others.

use std::time::Duration;

use clap::Subcommand;
use uuid::Uuid;

use super::output::print;
use super::text::visible;
use crate::service::core::access::{Scope, Scopes};
use crate::service::core::clock;
use crate::service::ops::keys::{
    KeyLimits, KeyRow, Keys, LONGEST_GRACE, MOST_DAYS, MOST_NAME_CHARS, MOST_PER_MINUTE, NewKey,
};

const DAY: u64 = 24 * 3_600;
const LONGEST_LIFE: Duration = Duration::from_secs(MOST_DAYS as u64 * DAY);

#[derive(Debug, Subcommand)]
pub enum KeysCommand {
    /// Make a key and print it; it is shown this once only.
    Create {
        /// The tenant it belongs to; made when there is none of that name.
        #[arg(long, default_value = "default", value_parser = name)]
        tenant: String,
        /// To tell it from others.
        #[arg(long, default_value = "", value_parser = name)]
        name: String,
        /// What it may do: `read`; `write`, which includes `read`; `admin`, which manages keys and includes both.
        #[arg(long = "scope", value_name = "SCOPE", value_delimiter = ',', value_parser = scope, default_value = "write")]
        scopes: Vec<Scope>,
        /// When it ends, as `90d`, `12h`, `30m` or `60s` from now [default: never].
        #[arg(long, value_name = "TIME", value_parser = time_to_live)]
        expires_in: Option<Duration>,
        /// Requests that it may make within a minute, at each process of the service [default: no limit].
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_PER_MINUTE)))]
        requests_per_minute: Option<u32>,
    },
    /// List all keys without their text: id, tenant, name, made, revoked, scopes, end, last use.
    List,
    /// Make a key that takes another's place, and print it; the other one goes on for a while.
    Rotate {
        id: Uuid,
        /// How long the old key goes on, up to `7d`; `0s` ends it at once.
        #[arg(long, value_name = "TIME", value_parser = grace, default_value = "1d")]
        grace: Duration,
    },
    /// Make a key useless.
    Revoke { id: Uuid },
}

pub async fn run(keys: &Keys, command: KeysCommand) -> anyhow::Result<()> {
    match command {
        KeysCommand::Create { tenant, name, scopes, expires_in, requests_per_minute } => {
            let expires_at = expires_in.map(|time| clock::now() + time);
            let limits = KeyLimits { requests_per_minute };
            let new = NewKey { name, scopes: Scopes::of(scopes), limits, expires_at };
            print(&(keys.create_for(&tenant, new).await? + "\n"))
        }
        KeysCommand::List => print(&keys.list().await?.iter().map(line).collect::<String>()),
        KeysCommand::Rotate { id, grace } => {
            let made = keys.rotate(keys.tenant_of(id).await?, id, grace).await?;
            print(&(made.key.unwrap_or_default() + "\n"))
        }
        KeysCommand::Revoke { id } => Ok(keys.revoke(id).await?),
    }
}

fn line(row: &KeyRow) -> String {
    let key = &row.key;
    let [revoked, expires, used] = [key.revoked_at, key.expires_at, key.last_used_at]
        .map(|time| time.map_or_else(|| "-".to_owned(), |time| time.to_rfc3339()));
    let (made, scopes) = (key.created_at.to_rfc3339(), key.scopes.words().join(","));
    // A line is a key and a tab ends a field, whatever somebody called theirs.
    let (tenant, name) = (visible(&row.tenant), visible(&key.name));
    format!("{}\t{tenant}\t{name}\t{made}\t{revoked}\t{scopes}\t{expires}\t{used}\n", key.id)
}

fn name(text: &str) -> Result<String, String> {
    if text.chars().count() > MOST_NAME_CHARS {
        return Err(format!("must have {MOST_NAME_CHARS} characters at most"));
    }
    Ok(text.to_owned())
}

fn scope(text: &str) -> Result<Scope, String> {
    text.parse().map_err(|_| "must be read, write or admin".to_owned())
}

fn time_to_live(text: &str) -> Result<Duration, String> {
    let time = time(text).filter(|time| !time.is_zero() && *time <= LONGEST_LIFE);
    time.ok_or_else(|| "must be a time such as 90d, 12h, 30m or 60s, of 100 years at most".to_owned())
}

fn grace(text: &str) -> Result<Duration, String> {
    let time = time(text).filter(|time| *time <= LONGEST_GRACE);
    time.ok_or_else(|| "must be a time such as 1d, 12h, 30m or 0s, of 7 days at most".to_owned())
}

fn time(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => DAY,
        _ => return None,
    };
    number.parse::<u32>().ok().map(|number| Duration::from_secs(u64::from(number) * seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_an_end() {
        assert!(name(&"é".repeat(MOST_NAME_CHARS)).is_ok() && name(&"e".repeat(MOST_NAME_CHARS + 1)).is_err());
    }

    #[test]
    fn times_have_a_unit_and_an_end() {
        assert_eq!(time_to_live("90d"), Ok(Duration::from_secs(90 * DAY)));
        assert_eq!(grace("0s"), Ok(Duration::ZERO));
        for odd in ["", "d", "90", "-1d", "1.5h", "1w", "é", "99999999999d", "36501d", "0s"] {
            assert!(time_to_live(odd).is_err(), "{odd}");
        }
        assert!(grace("8d").is_err() && grace("7d").is_ok());
    }
}
