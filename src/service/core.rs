//! Basis of every use case: the service and what its process keeps in memory, tenants, sessions as they are read and
//! locked, settings, errors, time, idempotency, writes whose acknowledgement got lost.

pub mod access;
pub(crate) mod acknowledgement;
pub mod answer_room;
pub mod clock;
pub(crate) mod digests;
pub mod error;
pub(crate) mod feed;
pub(crate) mod group_commit;
pub(crate) mod handles;
pub mod head;
pub(crate) mod heads;
pub mod hooks;
pub mod idempotency;
pub(crate) mod lanes;
pub mod long_reads;
pub mod offload;
pub mod page;
pub(crate) mod paths;
pub mod pieces;
pub mod queries;
pub(crate) mod references;
pub(crate) mod settings;
pub mod state;
pub mod tenant;
