//! Which tool results a compaction shows shorter, and whether that is all it does.

use super::Material;
use crate::domain::accounting::fill_state;
use crate::domain::compaction::{Elision, FillState};
use crate::domain::guard::savings_pct;
use crate::domain::mask;
use crate::domain::settings::Strategy;
use crate::service::compactions::Trigger;

/// The elisions that pruning and masking propose for a view.
pub(super) struct Elided {
    pub merged: Vec<Elision>,
    /// How many by pruning.
    pub pruned: u32,
    pub masked_results: u32,
    pub freed: u64,
    pub mask_freed: u64,
}

/// Adds what masking proposes to what pruning does.
pub(super) fn elide(material: &Material, pruned: Vec<Elision>) -> Elided {
    let previous = material.loaded.record().map(|record| record.elisions.as_slice()).unwrap_or_default();
    let masks = matches!(material.strategy, Strategy::Auto | Strategy::Mask);
    let mask = if masks {
        mask::plan(&material.loaded.view(), &material.loaded.heads, &material.settings)
    } else {
        mask::MaskPlan::default()
    };
    let merged = mask::merge(&mask::merge(previous, &pruned), &mask.elisions);
    let size = |elisions: &[Elision]| -> u64 {
        elisions.iter().map(|e| u64::from(e.tokens_before.saturating_sub(e.tokens_after))).sum()
    };
    let freed = size(&merged).saturating_sub(size(previous));
    let pruned = u32::try_from(pruned.len()).unwrap_or(u32::MAX);
    Elided { freed, pruned, masked_results: mask.results, mask_freed: mask.tokens_freed, merged }
}

/// Whether eliding alone is what this compaction does.
pub(super) fn elides_only(material: &Material, elided: &Elided) -> bool {
    match material.strategy {
        Strategy::Mask | Strategy::Prune => true,
        Strategy::Auto if material.request.summary.is_some() => false,
        // Somebody asked: eliding stands in only where there is nothing to summarise.
        Strategy::Auto if material.plan.is_err() => elided.freed > 0,
        Strategy::Auto if material.trigger == Trigger::Manual => false,
        Strategy::Auto => {
            let (before, _) = material.state.account.tokens(material.settings.estimator);
            let after = material.state.account.tokens_without(elided.freed, material.settings.estimator);
            elided.freed > 0
                && fill_state(after, &material.settings) != FillState::Red
                && savings_pct(before, after) >= material.settings.min_savings_pct
        }
        _ => false,
    }
}
