//! What every use case rests on: the service and what its process keeps in memory, tenants, a session's head and row,
//! errors, time, idempotency, writes whose acknowledgement got lost.

mod acknowledgement;
pub mod clock;
mod digests;
pub mod error;
mod feed;
mod group_commit;
pub mod head;
mod health;
pub mod idempotency;
mod lanes;
mod locks;
pub mod long_reads;
pub mod offload;
pub mod page;
mod paths;
pub mod pieces;
mod references;
pub mod state;
pub mod tenant;
