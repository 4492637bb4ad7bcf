//! Complete replies by their status: a table with a place for each, so that a count is one addition.

use std::collections::BTreeMap;

/// Statuses have at most three digits.
const STATUSES: usize = 1000;

pub(super) struct Statuses {
    counts: Box<[u64; STATUSES]>,
}

impl Statuses {
    pub(super) fn new() -> Statuses {
        Statuses { counts: Box::new([0; STATUSES]) }
    }

    /// Counts a reply; 0 is one of a protocol without statuses.
    #[inline]
    pub(super) fn count(&mut self, status: u16) {
        self.counts[usize::from(status) % STATUSES] += 1;
    }

    /// The statuses that came, and how often each.
    pub(super) fn seen(&self) -> BTreeMap<u16, u64> {
        let counted = (0u16..).zip(self.counts.iter().copied());
        counted.filter(|&(status, count)| status > 0 && count > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_status_is_not_listed() {
        let mut statuses = Statuses::new();
        [200, 0, 200, 404].into_iter().for_each(|status| statuses.count(status));
        assert_eq!(statuses.seen().into_iter().collect::<Vec<_>>(), [(200, 2), (404, 1)]);
    }
}
