//! Sessions as files: pi's and Claude Code's with every branch, or the items of one path.

use std::collections::HashMap;

use futures::TryStreamExt;
use uuid::Uuid;

use crate::domain::model::entry_type::EntryType;
use crate::domain::model::format::Format;
use crate::domain::model::handle;
use crate::domain::transcript::claude_code_file::ClaudeCodeFile;
use crate::domain::transcript::codex_lines;
use crate::domain::transcript::pi_export::{Exported, ExportedEntry, Exporter, Origin, as_items, as_message};
use crate::service::core::error::{Result, ServiceError};
use crate::service::core::long_reads::LongReads;
use crate::service::core::offload::aside;
use crate::service::core::pieces::{PieceWriter, Pieces, pieces};
use crate::service::core::queries::Queries;
use crate::service::core::tenant::Tenant;
use crate::service::path::entries::path_of;
use crate::service::path::{batches, view};
use crate::store::entries::{self, StoredEntry};
use crate::store::path::{self, Segment};

/// Items that are read for one piece of a file.
const PIECE_BYTES: i64 = 1 << 20;

/// Request for an export: its format and its leaf.
#[derive(Debug, Clone, Copy)]
pub struct Export {
    pub format: Format,
    /// Another leaf than the session's.
    pub leaf_id: Option<Uuid>,
}

impl Queries {
    /// A session as JSON Lines, in pieces. `pi`: a session file of version 3 with all branches, the leaf last;
    /// `claude_code`: one with all branches, in the order in which they came. Any other format: the items of the leaf's
    /// path, those of that format as they came. What is appended meanwhile is not in it.
    ///
    /// # Errors
    /// `NotFound`; the database's.
    pub async fn export(&self, tenant: Tenant, session_id: Uuid, export: Export) -> Result<Pieces> {
        match export.format {
            format if format.has_tree() => self.export_tree(tenant, session_id, format, export.leaf_id).await,
            format => self.export_path(tenant, session_id, format, export.leaf_id).await,
        }
    }

    async fn export_path(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        format: Format,
        leaf_id: Option<Uuid>,
    ) -> Result<Pieces> {
        let mut connection = self.pool.acquire().await?;
        let (row, head) = self.heads.read_row(&mut *connection, tenant, session_id).await?;
        let rest = path_of(&mut connection, tenant, &head, leaf_id).await?;
        let header = (format == Format::Codex).then(|| codex_lines::header(session_id, row.created_at));
        Ok(pieces(Lines { long_reads: self.long_reads.clone(), tenant, format, rest, header, tools: HashMap::new() }))
    }

    async fn export_tree(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        format: Format,
        leaf_id: Option<Uuid>,
    ) -> Result<Pieces> {
        let mut connection = self.pool.acquire().await?;
        let (row, head) = self.heads.read_row(&mut *connection, tenant, session_id).await?;
        if let Some(id) = leaf_id {
            view::place(&mut connection, tenant, session_id, id).await?;
        }
        let shared = path::shared_history(&mut connection, tenant.0, session_id).await?;
        drop(connection);
        // Entries are never changed, and those that come after these are left out: all readings see one state.
        let last = head.row.next_seq - 1;
        let scope = ExportScope { long_reads: self.long_reads.clone(), tenant, session_id, last };
        if format == Format::ClaudeCode {
            let file = TreeFile::ClaudeCode(ClaudeCodeFile::new(session_id));
            return Ok(pieces(TreeExport { scope, shared, after: -1, file: Some(file), has_begun: true }));
        }
        let origin = Origin { session_id, created_at: row.created_at, updated_at: row.updated_at };
        let exporter = Exporter::new(leaf_id.or(head.row.leaf_id), origin);
        let file = TreeFile::Pi(Box::new(scope.know(&shared, exporter).await?));
        Ok(pieces(TreeExport { scope, shared, after: -1, file: Some(file), has_begun: false }))
    }
}

/// The lines of a path in one format.
struct Lines {
    long_reads: LongReads,
    tenant: Tenant,
    format: Format,
    rest: Vec<Segment>,
    /// Line that a file begins with whose first entry is of another format.
    header: Option<String>,
    /// Names of the tools so far, by call.
    tools: HashMap<String, String>,
}

impl PieceWriter for Lines {
    async fn next(&mut self) -> Result<Option<String>> {
        let mut reader = self.long_reads.reader(self.tenant, length(&self.rest)).await?;
        let chunk = entries::chunk(reader.on()?, self.tenant.0, &self.rest, PIECE_BYTES).await?;
        reader.done();
        let header = self.header.take();
        let Some(last) = chunk.last() else { return Ok(header.map(|line| line + "\n")) };
        self.rest = behind(&self.rest, last);
        let format = self.format;
        let is_own = chunk.first().is_some_and(|stored| stored.entry.source_format == format);
        let header = header.filter(|_| !is_own).map(|line| line + "\n");
        let mut tools = std::mem::take(&mut self.tools);
        let write = move || {
            let mut text = header.unwrap_or_default();
            for stored in &chunk {
                let calls = stored.entry.head.shape.calls.iter();
                tools.extend(calls.map(|call| (call.id.clone(), call.name.clone())));
                text.extend(lines_of(stored, format, &tools));
            }
            (text, tools)
        };
        let (text, tools) = aside(write).await?;
        self.tools = tools;
        Ok(Some(text))
    }
}

fn lines_of(stored: &StoredEntry, format: Format, tools: &HashMap<String, String>) -> Vec<String> {
    // A compaction of the service's own is no item of any format.
    if stored.record.is_some() && stored.entry.source_format == Format::Native {
        return Vec::new();
    }
    let told = stored.handle().filter(|_| stored.entry.source_format != format);
    let items = match told.and_then(handle::told) {
        // Its service's formats alone have sealed items.
        Some(message) => as_message(message, format),
        None if format == Format::Codex => codex_lines::lines(&stored.entry),
        None => as_items(&stored.entry, format, tools),
    };
    items.into_iter().map(|line| line + "\n").collect()
}

/// How many entries these segments have.
fn length(segments: &[Segment]) -> i64 {
    segments.iter().map(|segment| segment.to - segment.from + 1).sum()
}

/// Returns the segments of a path that lie behind an entry of it.
fn behind(path: &[Segment], last: &StoredEntry) -> Vec<Segment> {
    path::clip(path, &[(last.entry.head.depth + 1, i64::MAX)])
}

/// A session up to one of its entries.
struct ExportScope {
    long_reads: LongReads,
    tenant: Tenant,
    session_id: Uuid,
    /// The `seq` of the last entry.
    last: i64,
}

impl ExportScope {
    /// Makes every entry known to an exporter, and finds the file's header.
    async fn know(&self, shared: &[Segment], exporter: Exporter) -> Result<Exporter> {
        let mut reader = self.long_reads.reader(self.tenant, self.last + length(shared)).await?;
        let mut known = KnownEntries { exporter, headers: Vec::new() };
        for portion in path::portions(shared) {
            let heads = entries::heads(reader.on()?, self.tenant.0, &portion).await?;
            heads.iter().for_each(|stored| known.take(stored));
        }
        let (mut after, mut next) = (-1, Some(-1));
        while let Some(from) = next.take().filter(|from| *from < self.last) {
            let mut heads = entries::each_head_by_seq(reader.on()?, self.tenant.0, self.session_id, from);
            while let Some(stored) = heads.try_next().await?.filter(|stored| stored.entry.head.seq <= self.last) {
                after = stored.entry.head.seq;
                known.take(&stored);
            }
            next = (after > from).then_some(after);
        }
        let KnownEntries { exporter, headers, .. } = known;
        let lead = |(exporter, is_led): &mut (Exporter, bool), stored: &StoredEntry| {
            *is_led = *is_led || exporter.lead(&stored.entry);
            Ok(())
        };
        let led = batches::fold(reader.on()?, self.tenant, &headers, (exporter, false), lead).await?;
        reader.done();
        Ok(led.0)
    }

    /// The next entries to write. None are left where there are none.
    async fn chunk(&self, shared: &[Segment], after: i64) -> Result<Vec<StoredEntry>> {
        let mut reader = self.long_reads.reader(self.tenant, self.last - after + length(shared)).await?;
        let (tenant, own) = (self.tenant.0, (after, self.last));
        let chunk = if shared.is_empty() {
            entries::chunk_by_seq(reader.on()?, tenant, self.session_id, own, PIECE_BYTES).await?
        } else {
            entries::chunk(reader.on()?, tenant, shared, PIECE_BYTES).await?
        };
        reader.done();
        Ok(chunk)
    }
}

/// The heads of a session on their way past.
struct KnownEntries {
    exporter: Exporter,
    /// Where pi's headers may be.
    headers: Vec<Segment>,
}

impl KnownEntries {
    fn take(&mut self, stored: &StoredEntry) {
        let head = &stored.entry.head;
        let (session_id, branch, depth) = (stored.session_id, stored.branch, head.depth);
        if stored.entry.source_format == Format::Pi && head.kind == EntryType::SessionInfo {
            self.headers.push(Segment { session_id, branch, from: depth, to: depth });
        }
        self.exporter.know(&known(stored));
    }
}

/// The files that hold every branch.
enum TreeFile {
    Pi(Box<Exporter>),
    ClaudeCode(ClaudeCodeFile),
}

impl TreeFile {
    fn header(&mut self) -> String {
        match self {
            TreeFile::Pi(exporter) => exporter.header(),
            TreeFile::ClaudeCode(_) => String::new(),
        }
    }

    fn push(&mut self, stored: &StoredEntry) {
        let (record, label) = (stored.record.as_deref(), stored.label.as_deref());
        let exported = Exported { entry: &stored.entry, record, label };
        match self {
            TreeFile::Pi(exporter) => exporter.push(&exported),
            TreeFile::ClaudeCode(file) => file.push(&exported),
        }
    }

    fn take_lines(&mut self) -> String {
        match self {
            TreeFile::Pi(exporter) => exporter.take_lines(),
            TreeFile::ClaudeCode(file) => file.take_lines(),
        }
    }

    fn finish(self) -> String {
        match self {
            TreeFile::Pi(exporter) => exporter.finish(),
            TreeFile::ClaudeCode(mut file) => file.take_lines(),
        }
    }
}

/// A file with every branch.
struct TreeExport {
    scope: ExportScope,
    /// Segments of the history shared with others that are not written yet.
    shared: Vec<Segment>,
    /// The last entry of its own that was written.
    after: i64,
    /// `None`: the last line was written.
    file: Option<TreeFile>,
    has_begun: bool,
}

impl PieceWriter for TreeExport {
    async fn next(&mut self) -> Result<Option<String>> {
        let Some(mut file) = self.file.take() else { return Ok(None) };
        if !self.has_begun {
            self.has_begun = true;
            let header = file.header();
            self.file = Some(file);
            return Ok(Some(header));
        }
        let chunk = self.scope.chunk(&self.shared, self.after).await?;
        let Some(last) = chunk.last() else {
            if !self.shared.is_empty() {
                // Its session is being erased.
                return Err(ServiceError::NotFound("session"));
            }
            return Ok(Some(file.finish()));
        };
        if self.shared.is_empty() {
            self.after = last.entry.head.seq;
        } else {
            self.shared = behind(&self.shared, last);
        }
        let write = move || {
            chunk.iter().for_each(|stored| file.push(stored));
            (file.take_lines(), file)
        };
        let (lines, file) = aside(write).await?;
        self.file = Some(file);
        Ok(Some(lines))
    }
}

fn known(stored: &StoredEntry) -> ExportedEntry<'_> {
    ExportedEntry {
        head: &stored.entry.head,
        parent_id: stored.entry.parent_id,
        source_format: stored.entry.source_format,
        source_id: stored.entry.source_id.as_deref(),
        record: stored.record.as_deref(),
    }
}
