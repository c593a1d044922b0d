//! Basis of every use case: the service and what its process keeps in memory, tenants, a session's head and row,
//! errors, time, idempotency, writes whose acknowledgement got lost.

pub(crate) mod acknowledgement;
pub mod clock;
pub(crate) mod digests;
pub mod error;
pub(crate) mod feed;
pub(crate) mod group_commit;
pub mod head;
pub(crate) mod health;
pub mod idempotency;
pub(crate) mod lanes;
pub(crate) mod locks;
pub mod long_reads;
pub mod offload;
pub mod page;
pub(crate) mod paths;
pub mod pieces;
pub(crate) mod references;
pub mod state;
pub mod tenant;
