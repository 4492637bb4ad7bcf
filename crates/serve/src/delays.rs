//! Connections of a loop whose replies are delayed (`/delay/TIME`).
//!
//! The deadlines of [`Slots`](crate::slots::Slots) are checked a few ticks late. Delays end on time, since clients measure
//! them. So they are in a heap, and the loop waits at most until the first of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use pitot_sys::Token;

/// Entries of closed connections are dropped when there are so many more entries than connections.
const GONE_MAX: usize = 64;

/// The delays of a loop's connections, at most one each.
#[derive(Debug, Default)]
pub struct Delays(BinaryHeap<Reverse<(Instant, Token)>>);

impl Delays {
    /// Delays a connection for `time` from now on. `count` is the number of connections, and `lives` returns whether the connection
    /// of a token is still open.
    pub fn add(&mut self, token: Token, time: Duration, count: usize, lives: impl FnMut(Token) -> bool) {
        self.add_at(Instant::now() + time, token, count, lives);
    }

    fn add_at(&mut self, end: Instant, token: Token, count: usize, mut lives: impl FnMut(Token) -> bool) {
        if self.0.len() >= count * 2 + GONE_MAX {
            self.0.retain(|Reverse((_, token))| lives(*token));
        }
        self.0.push(Reverse((end, token)));
    }

    /// The time until the first one ends, if there is one.
    pub fn until_next(&self) -> Option<Duration> {
        self.0.peek().map(|Reverse((end, _))| end.saturating_duration_since(Instant::now()))
    }

    /// The connections whose delays have ended, in that order; some may be closed.
    pub fn take_ended(&mut self) -> Vec<Token> {
        if self.0.is_empty() { Vec::new() } else { self.take_until(Instant::now()) }
    }

    fn take_until(&mut self, now: Instant) -> Vec<Token> {
        let mut ended = Vec::new();
        while let Some(Reverse((end, token))) = self.0.peek()
            && *end <= now
        {
            ended.push(*token);
            self.0.pop();
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_end_in_the_order_of_their_ends_and_not_before() {
        let (mut delays, start) = (Delays::default(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        for (index, ms) in [(0, 30), (1, 10), (2, 20)] {
            delays.add_at(at(ms), Token::new(index, 0), 3, |_| true);
        }
        assert_eq!(delays.take_until(at(9)), []);
        assert_eq!(delays.take_until(at(20)), [Token::new(1, 0), Token::new(2, 0)]);
        assert_eq!(delays.take_until(at(99)), [Token::new(0, 0)]);
        assert_eq!(delays.until_next(), None);
    }

    #[test]
    fn clients_that_ask_for_long_delays_and_leave_take_no_memory() {
        let (mut delays, end) = (Delays::default(), Instant::now() + Duration::from_secs(60));
        for index in 0..10_000 {
            delays.add_at(end, Token::new(index, 0), 1, |token| token.index() == index);
        }
        assert!(delays.0.len() <= GONE_MAX + 2, "{}", delays.0.len());
    }
}
