//! Compactions. One goes through five stages, each in the file of its name, each with one thing to hand on:
//!
//! | stage | what it does | hands on |
//! |---|---|---|
//! | `request` | queues it, for a call or an append | `CompactRequest`, in its row |
//! | `plan` | may it run, and which entries does it replace | `PlannedCompaction` |
//! | `read` | reads their items; decides on elisions and the new view | `CompactionWork` |
//! | `summarise` | has the summary written | `SummaryOutcome` |
//! | `commit` | the entry, the head, the result | |
//!
//! `worker::compaction` carries a job through them. `ahead` keeps a finished one until it is needed, `force_fit` runs all
//! stages at once without a model, `prepare` stops short of the commit, `close` and `revert` leave compactions of
//! other kinds; `diff` tells what one changed, `prompts` what was asked for it, `dead_letters` does failed ones again or
//! forgets them, `facts` is what spans and logs tell of one, `committing` holds that back until the commit;
//! `caller_cut` says where a caller or a hook may cut, `background` what of the system prompt
//! a model is shown, `given` what of a caller's notes is carried where nothing else does.

mod ahead;
pub(crate) mod background;
mod caller_cut;
pub(crate) mod carry;
mod close;
pub(crate) mod commit;
pub(crate) mod committing;
mod dead_letters;
pub mod diff;
mod evidence;
pub mod facts;
mod force_fit;
mod given;
mod job;
pub mod plan;
pub mod prepare;
pub mod prompts;
pub(crate) mod read;
mod records;
mod request;
mod retell;
mod revert;
mod status;
pub mod summarise;
pub mod work;

pub(crate) use ahead::{Settled, save};
pub use close::{ChapterRefused, ChapterWritten, ChaptersWritten, NewChapter};
pub use commit::{Committed, Holder};
pub use dead_letters::{PurgeRequest, Purged};
pub(crate) use force_fit::Fitted;
pub use job::{CompactRequest, Compaction, CompactionRef, Status, Trigger};
pub use status::CompactionFilter;
