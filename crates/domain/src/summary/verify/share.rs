//! A part of a whole.

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Share {
    pub found: u32,
    pub total: u32,
}

impl Share {
    pub(super) fn of(all: impl Iterator<Item = bool>) -> Share {
        all.fold(Share::default(), |share, found| Share {
            found: share.found + u32::from(found),
            total: share.total + 1,
        })
    }

    /// Between 0 and 1; 1 of nothing.
    pub(super) fn ratio(self) -> f64 {
        if self.total == 0 { 1.0 } else { f64::from(self.found) / f64::from(self.total) }
    }
}
