//! Which of the database's refusals pass: the same statement works later, on another connection, or when somebody has
//! made room. All others are faults of ours.

use sqlx::postgres::{PgDatabaseError, PgSeverity};

/// Fault of the database, not of the statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseFault {
    /// Not reachable, starting or stopping, out of connections or memory, or too slow.
    Unavailable,
    /// It takes no writes: a standby, or set to be read only.
    ReadOnly,
    /// No room is left on its disk.
    StorageFull,
}

/// `None`: the statement itself was refused.
pub fn fault(error: &sqlx::Error) -> Option<DatabaseFault> {
    match error {
        sqlx::Error::Io(error) if error.kind() == std::io::ErrorKind::StorageFull => Some(DatabaseFault::StorageFull),
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed => {
            Some(DatabaseFault::Unavailable)
        }
        sqlx::Error::Database(database) => of_state(&database.code()?),
        _ => None,
    }
}

fn of_state(state: &str) -> Option<DatabaseFault> {
    match state {
        "53100" => Some(DatabaseFault::StorageFull),
        // 25006: a write in a read-only transaction.
        "25006" => Some(DatabaseFault::ReadOnly),
        // 57014: cancelled, by the statement's timeout; 55P03: no lock in time; 25P03: idle for too long in a
        // transaction; 40001, 40P01: rolled back in favour of others; 58030: the disk failed; 3D000: the database is
        // not there, which a running service finds after a failover alone.
        "57014" | "55P03" | "25P03" | "40001" | "40P01" | "58030" | "3D000" => Some(DatabaseFault::Unavailable),
        // 08: connections; 28: who may connect; 53: too little of something; 57P: the operator steps in.
        _ if ["08", "28", "53", "57P"].iter().any(|class| state.starts_with(class)) => Some(DatabaseFault::Unavailable),
        _ => None,
    }
}

/// Returns true if a statement that ended in this error may have been committed all the same. An error that the server
/// reports and lives on has rolled back; one that ends the connection can come after the commit.
pub fn in_doubt(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(database) => database
            .try_downcast_ref::<PgDatabaseError>()
            .is_none_or(|error| matches!(error.severity(), PgSeverity::Fatal | PgSeverity::Panic)),
        sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_told_from_what_does_not() {
        for state in ["57P01", "57P02", "57P03", "53000", "53200", "53300", "08006", "08P01", "28P01", "57014", "40P01"]
        {
            assert_eq!(of_state(state), Some(DatabaseFault::Unavailable), "{state}");
        }
        assert_eq!(of_state("25006"), Some(DatabaseFault::ReadOnly));
        assert_eq!(of_state("53100"), Some(DatabaseFault::StorageFull));
        for state in ["23505", "22P05", "42P01", "XX000", "25001", "54000"] {
            assert_eq!(of_state(state), None, "{state}");
        }
        assert_eq!(fault(&sqlx::Error::PoolTimedOut), Some(DatabaseFault::Unavailable));
        assert_eq!(fault(&sqlx::Error::RowNotFound), None);
    }
}
