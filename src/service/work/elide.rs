//! Which tool results and arguments a compaction shows shorter, and whether that is all it does.

use super::Material;
use crate::domain::accounting::{fill_state, red_tokens};
use crate::domain::compaction::{ElidedPart, Elision, FillState};
use crate::domain::guard::savings_pct;
use crate::domain::mask;
use crate::domain::settings::Strategy;
use crate::service::compactions::Trigger;

/// The elisions that pruning and masking propose for a view.
pub(super) struct Elided {
    pub merged: Vec<Elision>,
    /// How many results by pruning.
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
    let pruned = pruned.iter().filter(|elision| elision.part == ElidedPart::Result).count();
    let pruned = u32::try_from(pruned).unwrap_or(u32::MAX);
    Elided { freed, pruned, masked_results: mask.results, mask_freed: mask.tokens_freed, merged }
}

/// Whether eliding alone is what this compaction does.
pub(super) fn elides_only(material: &Material, elided: &Elided) -> bool {
    match material.strategy {
        Strategy::Mask | Strategy::Prune => true,
        Strategy::Auto if material.request.summary.is_some() => false,
        // Somebody asked: eliding stands in only where there is nothing to summarise.
        Strategy::Auto if material.plan.is_err() => elided.freed > 0,
        // The provider found the context too long: how much is too much, our count does not know.
        Strategy::Auto if matches!(material.trigger, Trigger::Manual | Trigger::Overflow) => false,
        Strategy::Auto => {
            let settings = &material.settings;
            let (before, _) = material.state.account.tokens(settings.estimator);
            let after = material.state.account.tokens_without(elided.freed, settings.estimator);
            let enough = match material.trigger {
                // It is committed at red, and there is time for more: it must be worth the broken prompt cache.
                Trigger::Ahead => {
                    let at_red = (red_tokens(settings) as u64).saturating_sub(before.saturating_sub(after));
                    fill_state(at_red, settings) == FillState::Green
                }
                _ => fill_state(after, settings) != FillState::Red,
            };
            elided.freed > 0 && enough && savings_pct(before, after) >= settings.min_savings_pct
        }
        _ => false,
    }
}
