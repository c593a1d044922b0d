//! The work of one compaction: what is to be summarised, and what the context becomes around the summary.

mod elide;
mod outline;
mod prune_candidates;
mod reading;
pub mod stages;
mod tasks;
mod truncate_kept;

use crate::domain::compaction::result::Reason;
use crate::service::compaction::work::stages::{Decision, Material};
use crate::service::core::error::Result;
use elide::{elide, elides_only, widen};
use outline::{elision_outline, summary_outline};

pub(crate) use reading::{Records, ReplacedOriginals, ViewReading};
pub(crate) use truncate_kept::{Force, KeptTruncation};

/// Decides what a compaction of this material does. The inner error is the reason to do nothing.
pub(crate) fn build(
    material: &Material,
    mut reading: ViewReading,
    originals: Option<ReplacedOriginals>,
) -> Result<std::result::Result<Decision, Reason>> {
    let largest = reading.largest();
    let elided = elide(material, reading.pruned());
    if elides_only(material, &elided) {
        return Ok(elision_outline(material, widen(material, elided, largest)));
    }
    match &material.plan {
        Ok(plan) => summary_outline(material, plan, reading, originals, elided).map(Ok),
        Err(reason) => Ok(Err(*reason)),
    }
}
