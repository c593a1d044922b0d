//! Health of the database, as far as it is known between two looks.

use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::store::censuses::{QueueFigures, SessionFigures, Taken};

/// How long a disk counts as full after a write that failed for it.
pub(crate) const FULL_FOR: Duration = Duration::from_secs(5);

/// How the database was found when somebody last looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DatabaseHealth {
    #[default]
    Fine,
    /// It refuses connections.
    Away,
    /// It has said nothing for longer than anybody should wait.
    Silent,
    ReadOnly,
    StorageFull,
}

/// What is known of all sessions and of the queue, each with the time it was taken. `None`: it never was.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Figures {
    pub sessions: Option<Taken<SessionFigures>>,
    pub queue: Option<Taken<QueueFigures>>,
}

/// Status of the database, besides what a request finds out for itself.
#[derive(Debug, Default)]
pub(crate) struct DatabaseStatus {
    pub(crate) health: watch::Sender<DatabaseHealth>,
    pub(crate) full: Mutex<Option<Instant>>,
    pub(crate) moved: Notify,
    pub(crate) figures: watch::Sender<Figures>,
}
