//! The limit on unacknowledged recipients: their message is being sent, or was accepted but is not in the journal on the disk.
//!
//! If the engine were killed now, the next one would send to these recipients again. A message is sent only while they are below
//! the limit, otherwise it waits.

use std::collections::VecDeque;

use pitot_sys::Token;

/// The window.
#[derive(Debug)]
pub(crate) struct Unacknowledged {
    limit: usize,
    used: usize,
    /// The most recipients in it at once.
    pub(crate) peak: usize,
    /// Positions in the journal, and the recipients whose records end there.
    recorded: VecDeque<(u64, usize)>,
    /// Sessions that wait for room.
    waiting: VecDeque<Token>,
}

impl Unacknowledged {
    pub(crate) fn new(limit: usize) -> Unacknowledged {
        Unacknowledged { limit, used: 0, peak: 0, recorded: VecDeque::new(), waiting: VecDeque::new() }
    }

    /// Reserves the recipients of a message, unless the limit is reached or another session waits.
    pub(crate) fn try_reserve(&mut self, recipients: usize) -> bool {
        if !self.waiting.is_empty() || self.used + recipients > self.limit {
            return false;
        }
        self.reserve(recipients);
        true
    }

    fn reserve(&mut self, recipients: usize) {
        self.used += recipients;
        self.peak = self.peak.max(self.used);
        debug_assert!(self.used <= self.limit);
    }

    /// A session waits for room.
    pub(crate) fn wait(&mut self, session: Token) {
        self.waiting.push_back(session);
    }

    /// Reserves for the first waiting session that still exists; `recipients` returns its need. `None` if the limit is reached, or
    /// there is no such session.
    pub(crate) fn reserve_next(&mut self, recipients: impl Fn(Token) -> Option<usize>) -> Option<Token> {
        while let Some(session) = self.waiting.front().copied() {
            match recipients(session) {
                // It has ended.
                None => {
                    self.waiting.pop_front();
                }
                Some(n) if self.used + n <= self.limit => {
                    self.waiting.pop_front();
                    self.reserve(n);
                    return Some(session);
                }
                Some(_) => return None,
            }
        }
        None
    }

    /// The outcome of these recipients is known, and on the disk once the journal is synchronised up to `position`.
    pub(crate) fn recorded_at(&mut self, position: u64, recipients: usize) {
        self.recorded.push_back((position, recipients));
    }

    /// The journal is synchronised up to `position`: its recipients leave the window.
    pub(crate) fn release(&mut self, position: u64) {
        while self.recorded.front().is_some_and(|(at, _)| *at <= position) {
            self.used -= self.recorded.pop_front().map_or(0, |(_, n)| n);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_waits_until_enough_others_are_on_the_disk() {
        let mut window = Unacknowledged::new(5);
        assert!(window.try_reserve(3));
        assert!(!window.try_reserve(3));
        let (a, b) = (Token::new(1, 0), Token::new(2, 0));
        window.wait(a);
        window.wait(b);
        assert!(!window.try_reserve(1), "it would overtake");
        window.recorded_at(3, 3);
        window.release(2);
        let needs = |t: Token| Some(if t == a { 3 } else { 2 });
        assert_eq!(window.reserve_next(needs), None);
        window.release(3);
        assert_eq!(window.reserve_next(needs), Some(a));
        assert_eq!(window.reserve_next(needs), Some(b));
        assert_eq!(window.reserve_next(needs), None);
        assert_eq!(window.peak, 5);
    }

    #[test]
    fn sessions_that_have_ended_are_skipped() {
        let mut window = Unacknowledged::new(1);
        let (a, b) = (Token::new(1, 0), Token::new(2, 0));
        window.wait(a);
        window.wait(b);
        assert_eq!(window.reserve_next(|t| (t == b).then_some(1)), Some(b));
    }
}
