//! How many recipients may be in doubt: their message is under way, or taken and not yet in the journal on the disk.
//!
//! Were the engine killed now, these are the ones that the next one would write to although they may have been written
//! to. A message is sent only while they are fewer than allowed, and waits its turn otherwise.

use std::collections::VecDeque;

use pitot_sys::Token;

/// The account of doubt.
#[derive(Debug)]
pub(crate) struct Doubt {
    limit: usize,
    taken: usize,
    /// The most that were in doubt at once.
    pub(crate) peak: usize,
    /// Recipients whose records end there in the journal.
    recorded: VecDeque<(u64, usize)>,
    /// Sessions that wait for room.
    waiting: VecDeque<Token>,
}

impl Doubt {
    pub(crate) fn new(limit: usize) -> Doubt {
        Doubt { limit, taken: 0, peak: 0, recorded: VecDeque::new(), waiting: VecDeque::new() }
    }

    /// Room for the recipients of a message, if there is, and nobody came before.
    pub(crate) fn enter(&mut self, recipients: usize) -> bool {
        if !self.waiting.is_empty() || self.taken + recipients > self.limit {
            return false;
        }
        self.admit(recipients);
        true
    }

    fn admit(&mut self, recipients: usize) {
        self.taken += recipients;
        self.peak = self.peak.max(self.taken);
        debug_assert!(self.taken <= self.limit);
    }

    /// A session waits for room.
    pub(crate) fn wait(&mut self, session: Token) {
        self.waiting.push_back(session);
    }

    /// The session that is to send next, with what it needs as `recipients` tells; none if it finds no room.
    pub(crate) fn admit_next(&mut self, recipients: impl Fn(Token) -> Option<usize>) -> Option<Token> {
        while let Some(session) = self.waiting.front().copied() {
            match recipients(session) {
                // It has gone.
                None => {
                    self.waiting.pop_front();
                }
                Some(n) if self.taken + n <= self.limit => {
                    self.waiting.pop_front();
                    self.admit(n);
                    return Some(session);
                }
                Some(_) => return None,
            }
        }
        None
    }

    /// The fate of these recipients is known, and recorded once the journal is on the disk up to there.
    pub(crate) fn recorded_at(&mut self, position: u64, recipients: usize) {
        self.recorded.push_back((position, recipients));
    }

    /// The journal is on the disk up to there.
    pub(crate) fn durable(&mut self, position: u64) {
        while self.recorded.front().is_some_and(|(at, _)| *at <= position) {
            self.taken -= self.recorded.pop_front().map_or(0, |(_, n)| n);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_waits_until_enough_others_are_on_the_disk() {
        let mut doubt = Doubt::new(5);
        assert!(doubt.enter(3));
        assert!(!doubt.enter(3));
        let (a, b) = (Token::new(1, 0), Token::new(2, 0));
        doubt.wait(a);
        doubt.wait(b);
        assert!(!doubt.enter(1), "it would overtake");
        doubt.recorded_at(3, 3);
        doubt.durable(2);
        let needs = |t: Token| Some(if t == a { 3 } else { 2 });
        assert_eq!(doubt.admit_next(needs), None);
        doubt.durable(3);
        assert_eq!(doubt.admit_next(needs), Some(a));
        assert_eq!(doubt.admit_next(needs), Some(b));
        assert_eq!(doubt.admit_next(needs), None);
        assert_eq!(doubt.peak, 5);
    }

    #[test]
    fn sessions_that_have_gone_are_passed_over() {
        let mut doubt = Doubt::new(1);
        let (a, b) = (Token::new(1, 0), Token::new(2, 0));
        doubt.wait(a);
        doubt.wait(b);
        assert_eq!(doubt.admit_next(|t| (t == b).then_some(1)), Some(b));
    }
}
