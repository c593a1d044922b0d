//! Which system messages of a transcript stand word for word, and which are history by now.
//!
//! Those that lead the transcript are its system prompt and stay. Of those in mid-conversation the newest of a kind
//! stay, and older ones while they are few: without a bound, reminders and notices would fill the window.

use std::collections::HashSet;

use crate::model::entry::EntryMeta;
use crate::settings::Settings;

/// Shares of the usable window: for the newest of each kind, and for these and others together. The newest of all may
/// have half of it.
const NEWEST_SHARE: u64 = 4;
const OTHERS_SHARE: u64 = 8;
const LAST_SHARE: u64 = 2;

/// The places of the standing ones, on a path or on what is loaded of it.
pub(super) fn standing<'a>(path: &'a [EntryMeta], settings: &Settings) -> impl Iterator<Item = usize> + 'a {
    let visible = || path.iter().enumerate().filter(|(_, head)| head.is_visible());
    let leading = leading(visible().map(|(_, head)| head));
    let all: Vec<(usize, &EntryMeta)> = visible().filter(|(_, head)| head.is_instruction()).collect();
    let (lead, mid) = all.split_at(leading.min(all.len()));
    let usable = u64::from(settings.usable());
    let mut stands = vec![false; mid.len()];
    let (mut kinds, mut taken) = (HashSet::new(), 0_u64);
    for (at, (_, head)) in mid.iter().enumerate().rev() {
        let tokens = u64::from(head.tokens);
        let share = if kinds.is_empty() { usable / LAST_SHARE } else { usable / NEWEST_SHARE };
        if kinds.insert((head.role, head.shape.opening)) && taken + tokens <= share {
            stands[at] = true;
            taken += tokens;
        }
    }
    for (at, (_, head)) in mid.iter().enumerate().rev() {
        let tokens = u64::from(head.tokens);
        if stands[at] {
            continue;
        }
        if taken + tokens > usable / OTHERS_SHARE {
            break;
        }
        stands[at] = true;
        taken += tokens;
    }
    let mid: Vec<usize> = mid.iter().zip(stands).filter(|(_, stands)| *stands).map(|((index, _), _)| *index).collect();
    lead.iter().map(|(index, _)| *index).collect::<Vec<_>>().into_iter().chain(mid)
}

/// How many system messages come before anything else. Of a path that is loaded in parts the running totals say
/// whether something is left out before one.
fn leading<'a>(visible: impl Iterator<Item = &'a EntryMeta>) -> usize {
    let mut before = 0_i64;
    let leads = |head: &&EntryMeta| {
        let own = i64::from(head.tokens);
        let leads = head.is_instruction() && (head.path_tokens == 0 || head.path_tokens == before + own);
        before += own;
        leads
    };
    visible.take_while(leads).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compaction::prepare::tests::{path, settings};

    /// With running totals, as stored.
    fn stored(spec: &str) -> Vec<EntryMeta> {
        let mut path = path(spec);
        let mut total = 0;
        for head in &mut path {
            total += i64::from(head.tokens);
            head.path_tokens = total;
        }
        path
    }

    fn stand(spec: &str, usable: u32) -> Vec<usize> {
        let settings = Settings { context_window: usable, reserve_tokens: 0, ..settings(0) };
        standing(&stored(spec), &settings).collect()
    }

    #[test]
    fn leading_ones_and_the_newest_stay_whatever_they_take() {
        assert_eq!(stand("y90 y10 u1 a1", 50), [0, 1]);
        assert_eq!(stand("y10 u1 y40 a1 y40 u1 y40", 100), [0, 6]);
    }

    #[test]
    fn older_ones_stay_while_they_are_few() {
        assert_eq!(stand("u1 y3 a1 y3 u1 y3 a1", 100), [1, 3, 5]);
        assert_eq!(stand("u1 y3 a1 y3 u1 y3 a1", 64), [3, 5]);
    }

    #[test]
    fn each_kind_has_its_newest() {
        let mut path = stored("u1 y20 a1 y20 u1 y20 a1 y3");
        path[1].shape.opening = 7;
        path[5].shape.opening = 8;
        let settings = Settings { context_window: 170, reserve_tokens: 0, ..settings(0) };
        assert_eq!(standing(&path, &settings).collect::<Vec<_>>(), [5, 7]);
        let settings = Settings { context_window: 180, ..settings };
        assert_eq!(standing(&path, &settings).collect::<Vec<_>>(), [1, 5, 7]);
    }

    #[test]
    fn what_is_not_loaded_before_one_does_not_make_it_lead() {
        let path = stored("y10 u1 y40 a1 y40 u1 y40");
        let loaded: Vec<EntryMeta> = [0, 2, 4, 6].into_iter().map(|at| path[at].clone()).collect();
        let settings = Settings { context_window: 100, reserve_tokens: 0, ..settings(0) };
        assert_eq!(standing(&loaded, &settings).collect::<Vec<_>>(), [0, 6 / 2]);
    }
}
