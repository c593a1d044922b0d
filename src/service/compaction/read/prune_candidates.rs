//! Tool results that hooks are offered for shortening, and what they made of them.

use std::collections::HashMap;

use serde::Serialize;
use uuid::Uuid;

use crate::domain::compaction::prune::PruneItem;
use crate::domain::context::{elision, placeholder};
use crate::domain::hook::answer::Shortened;
use crate::domain::model::compaction::{ElidedPart, Elision, ElisionKind};
use crate::domain::settings::Estimator;

/// Most bytes of text that are offered; what comes after stays with the built-in pruning.
const MOST_BYTES: usize = 4 << 20;

/// One result as a hook sees it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PruneCandidate {
    entry_id: Uuid,
    tool_call_id: String,
    /// The tool; empty where it is not known.
    name: String,
    /// Of the whole result, by the session's estimator.
    tokens: u32,
    text: String,
    #[serde(skip)]
    elision: Option<Elision>,
}

#[derive(Default)]
pub(super) struct PruneCandidates {
    list: Vec<PruneCandidate>,
    bytes: usize,
}

impl PruneCandidates {
    pub(super) fn add(&mut self, item: &PruneItem<'_>) {
        self.bytes = self.bytes.saturating_add(item.text.len());
        if self.bytes <= MOST_BYTES {
            self.list.push(PruneCandidate {
                entry_id: item.entry_id,
                tool_call_id: item.call_id.to_owned(),
                name: item.name.to_owned(),
                tokens: item.tokens,
                text: item.text.to_owned(),
                elision: None,
            });
        }
    }

    pub(super) fn list(&self) -> &[PruneCandidate] {
        &self.list
    }

    pub(super) fn elisions(self) -> Vec<Elision> {
        self.list.into_iter().filter_map(|offer| offer.elision).collect()
    }

    pub(super) fn shorten(&mut self, shortened: &[Shortened], estimator: Estimator) -> Result<usize, String> {
        let mut places: HashMap<(&str, Option<Uuid>), Vec<usize>> = HashMap::new();
        for (place, offer) in self.list.iter().enumerate() {
            for entry_id in [None, Some(offer.entry_id)] {
                places.entry((&offer.tool_call_id, entry_id)).or_default().push(place);
            }
        }
        let mut taken = Vec::new();
        for one in shortened {
            let call_id = &one.tool_call_id;
            let place = match places.get(&(call_id.as_str(), one.entry_id)).map(Vec::as_slice) {
                Some([place]) => *place,
                Some(_) => return Err(format!("the call id `{call_id}` needs its entry_id: it occurs more than once")),
                None => return Err(format!("no result of the call `{call_id}` was offered")),
            };
            let offer = self.list.get(place).ok_or_else(|| "no such result".to_owned())?;
            taken.push((place, elision(offer, &one.text, estimator)?, &one.text));
        }
        for (place, elision, text) in &taken {
            if let Some(offer) = self.list.get_mut(*place) {
                offer.elision = Some(elision.clone());
                offer.text.clone_from(text);
            }
        }
        Ok(taken.len())
    }
}

fn elision(offer: &PruneCandidate, text: &str, estimator: Estimator) -> Result<Elision, String> {
    let shown = placeholder::replaced(&offer.tool_call_id, text, offer.tokens);
    let tokens_after = elision::result_tokens(estimator, &offer.tool_call_id, &shown);
    if tokens_after >= offer.tokens {
        return Err(format!("what was given for the call `{}` is not shorter than the result", offer.tool_call_id));
    }
    Ok(Elision {
        entry_id: offer.entry_id,
        tool_call_id: offer.tool_call_id.clone(),
        kind: ElisionKind::Replace,
        part: ElidedPart::Result,
        tokens_before: offer.tokens,
        tokens_after,
        same_as: None,
        keep_chars: None,
        text: Some(text.to_owned()),
    })
}
