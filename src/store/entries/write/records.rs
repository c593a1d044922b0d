//! Rows on their way to the database, as values of its types `head_write_2` and `entry_write`: the fields are theirs, in
//! their order.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use sqlx::postgres::{PgHasArrayType, PgTypeInfo};
use sqlx::{Postgres, Type};
use uuid::Uuid;

use crate::store::entries::new::{NewEntry, Write};
use crate::store::entries::texts::{record_text, shape_text};
use crate::store::text_key::text_key;

#[derive(sqlx::Encode)]
pub struct HeadRecord<'a> {
    session_id: Uuid,
    version: i64,
    next_seq: i64,
    next_branch: i32,
    entry_count: i64,
    leaf_branch: i32,
    leaf_depth: i64,
    leaf_id: Option<Uuid>,
    state: &'a str,
    fill_state: &'a str,
    tokens: i64,
    guard_tripped: bool,
    updated_at: DateTime<Utc>,
}

#[derive(sqlx::Encode)]
pub struct EntryRecord<'a> {
    session_id: Uuid,
    seq: i64,
    branch: i32,
    depth: i64,
    id: Uuid,
    parent_id: Option<Uuid>,
    kind: &'static str,
    role: Option<&'static str>,
    tokens: i32,
    path_tokens: i64,
    path_result_tokens: i64,
    usage: Option<i64>,
    source_format: &'static str,
    source_id: Option<Cow<'a, str>>,
    source_key: Option<Uuid>,
    shape: Option<String>,
    record: Option<String>,
    item: &'a str,
    created_at: DateTime<Utc>,
}

impl<'a> HeadRecord<'a> {
    pub fn of(write: &'a Write<'_>) -> HeadRecord<'a> {
        HeadRecord {
            session_id: write.session_id,
            version: write.version,
            next_seq: write.head.next_seq,
            next_branch: write.head.next_branch,
            entry_count: write.head.entry_count,
            leaf_branch: write.head.leaf_branch,
            leaf_depth: write.head.leaf_depth,
            leaf_id: write.head.leaf_id,
            state: &write.head.state,
            fill_state: &write.head.fill_state,
            tokens: write.head.tokens,
            guard_tripped: write.head.guard_tripped,
            updated_at: write.now,
        }
    }
}

impl<'a> EntryRecord<'a> {
    pub fn of(session_id: Uuid, entry: &'a NewEntry) -> EntryRecord<'a> {
        let head = &entry.head;
        EntryRecord {
            session_id,
            seq: head.seq,
            branch: entry.branch,
            depth: head.depth,
            id: head.id,
            parent_id: entry.parent_id,
            kind: head.kind.into_str(),
            role: head.role.map(|role| role.into_str()),
            tokens: i32::try_from(head.tokens).unwrap_or(i32::MAX),
            path_tokens: head.path_tokens,
            path_result_tokens: entry.path_result_tokens,
            usage: head.usage.map(i64::from),
            source_format: entry.source_format.into_str(),
            source_id: entry.source_id.as_deref().map(without_nul),
            source_key: entry.source_id.as_deref().map(text_key),
            shape: shape_text(&head.shape),
            record: entry.record.as_ref().map(record_text),
            item: &entry.item,
            created_at: entry.created_at,
        }
    }
}

/// PostgreSQL's text holds every character but NUL.
fn without_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{fffd}")) } else { Cow::Borrowed(text) }
}

macro_rules! database_type {
    ($record:ident, $name:literal) => {
        impl Type<Postgres> for $record<'_> {
            fn type_info() -> PgTypeInfo {
                PgTypeInfo::with_name($name)
            }
        }

        impl PgHasArrayType for $record<'_> {
            fn array_type_info() -> PgTypeInfo {
                PgTypeInfo::array_of($name)
            }
        }
    };
}

database_type!(HeadRecord, "head_write_2");
database_type!(EntryRecord, "entry_write");
