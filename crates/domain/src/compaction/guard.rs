//! The anti-thrash guard: stops compacting where compacting no longer helps.

use crate::model::anti_thrash::{AntiThrash, TrippedBy};
use crate::settings::{GuardReset, Settings};

/// How much the context has to grow past the size at which the guard gave up: 5/4.
const GROWTH: (u64, u64) = (5, 4);

/// Reason for which the guard re-arms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum ResetReason {
    Growth,
    NewMessages,
    Manual,
    Settings,
}

impl AntiThrash {
    /// A fresh guard that shows the limits of `settings`.
    pub fn new(settings: &Settings) -> AntiThrash {
        let mut guard = AntiThrash::default();
        guard.follow(settings);
        guard
    }

    /// Returns true if a compaction may run at this size; `false` means skip. `messages` counts the messages of the
    /// context, so that a new one is seen. The guard re-arms itself here when its reset rule says so.
    pub fn admit(&mut self, tokens: u64, messages: u64, settings: &Settings) -> bool {
        self.follow(settings);
        if !self.tripped {
            return true;
        }
        let reason = match settings.reset {
            GuardReset::Growth if self.retry_at_tokens.is_some_and(|retry| tokens >= retry) => ResetReason::Growth,
            GuardReset::NewMessages if self.tripped_at_messages.is_none_or(|seen| messages > seen) => {
                ResetReason::NewMessages
            }
            _ => return false,
        };
        self.reset(reason);
        true
    }

    /// Learns from a compaction that ran: `tokens_before` and `tokens_after` of the whole context, and the number
    /// of messages in the context afterwards.
    pub fn record(&mut self, tokens_before: u64, tokens_after: u64, messages: u64, settings: &Settings) {
        self.record_weighed(tokens_before, tokens_after, false, messages, settings);
    }

    /// As [`AntiThrash::record`]; one at a loss counts as low savings, however much smaller the context is.
    pub fn record_weighed(
        &mut self,
        tokens_before: u64,
        tokens_after: u64,
        is_loss: bool,
        messages: u64,
        settings: &Settings,
    ) {
        let savings = savings_pct(tokens_before, tokens_after);
        self.last_savings_pct = Some(savings);
        if savings >= settings.min_savings_pct && !is_loss {
            self.clear();
        } else {
            self.low_savings_streak = self.low_savings_streak.saturating_add(1);
            self.losses = self.losses.saturating_add(u32::from(savings >= settings.min_savings_pct));
            let cap = settings.max_consecutive_low_savings;
            if cap > 0 && self.low_savings_streak >= cap {
                self.tripped = true;
                self.tripped_by = Some(match self.losses {
                    0 => TrippedBy::Savings,
                    losses if losses >= self.low_savings_streak => TrippedBy::Cost,
                    _ => TrippedBy::Both,
                });
                self.tripped_at_tokens = Some(tokens_before);
                self.tripped_at_messages = Some(messages);
            }
        }
        self.follow(settings);
    }

    /// Re-arms the guard and remembers why.
    pub fn reset(&mut self, reason: ResetReason) {
        self.clear();
        self.reset_reason = Some(reason.into_str().to_owned());
    }

    /// Re-arms the guard where the new settings could make the next compaction turn out otherwise.
    pub fn on_settings_change(&mut self, old: &Settings, new: &Settings) {
        let counting = self.tripped || self.low_savings_streak > 0;
        if counting && changes_outcome(old, new) {
            self.reset(ResetReason::Settings);
        }
        self.follow(new);
    }

    fn clear(&mut self) {
        (self.low_savings_streak, self.losses) = (0, 0);
        (self.tripped, self.tripped_by) = (false, None);
        self.tripped_at_tokens = None;
        self.tripped_at_messages = None;
        self.retry_at_tokens = None;
    }

    /// Takes over the limits of the settings; a cap of 0 turns the guard off, tripped or not.
    fn follow(&mut self, settings: &Settings) {
        self.max_consecutive_low_savings = settings.max_consecutive_low_savings;
        self.min_savings_pct = settings.min_savings_pct;
        if settings.max_consecutive_low_savings == 0 && self.tripped {
            self.reset(ResetReason::Settings);
        }
        self.retry_at_tokens = match settings.reset {
            GuardReset::Growth => self.tripped_at_tokens.map(retry_at),
            GuardReset::NewMessages => None,
        };
    }
}

/// `(before − after) / before × 100`; negative where the context grew, 0 for an empty one.
pub fn savings_pct(before: u64, after: u64) -> f64 {
    if before == 0 {
        return 0.0;
    }
    (before as f64 - after as f64) / before as f64 * 100.0
}

fn retry_at(tripped_at: u64) -> u64 {
    tripped_at.saturating_mul(GROWTH.0).div_ceil(GROWTH.1)
}

/// Compares all but the fields that only say when compaction starts, never what it does.
pub fn changes_outcome(old: &Settings, new: &Settings) -> bool {
    let mut aligned = old.clone();
    aligned.preset = new.preset;
    aligned.enabled = new.enabled;
    aligned.yellow_at = new.yellow_at;
    aligned.ahead_at = new.ahead_at;
    aligned.pays_at = new.pays_at;
    aligned.chaptering_trigger = new.chaptering_trigger;
    (aligned.window_source, aligned.greatest_input) = (new.window_source, new.greatest_input);
    aligned.pictures = new.pictures;
    aligned != *new
}

#[cfg(test)]
mod tests;
