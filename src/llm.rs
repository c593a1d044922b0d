//! Upstreams that write summaries: one trait, one file per wire format, and the built-in summariser beside them.
