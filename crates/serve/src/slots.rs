//! The connections of one worker.

use std::time::Duration;

use pitot_proto::Tick;
use pitot_sys::Token;

/// A slab of connections, whose tokens are never reused, with all deadlines in one compact array. To scan 15,000 deadlines takes some
/// ten microseconds and needs no timer structure, since it is done only when the first of them may have passed.
#[derive(Debug)]
pub struct Slots<T> {
    slots: Vec<Option<T>>,
    generations: Vec<u32>,
    deadlines: Vec<Tick>,
    /// No deadline is earlier.
    earliest: Tick,
    /// They are scanned at most once in a tick.
    not_before: Tick,
    free: Vec<u32>,
    count: usize,
}

impl<T> Slots<T> {
    /// No connections.
    pub fn new() -> Slots<T> {
        Slots {
            slots: Vec::new(),
            generations: Vec::new(),
            deadlines: Vec::new(),
            earliest: Tick::NEVER,
            not_before: Tick::START,
            free: Vec::new(),
            count: 0,
        }
    }

    /// The number of connections.
    pub fn len(&self) -> usize {
        self.count
    }

    /// True if there are no connections.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds the connection that `make` returns for its token.
    pub fn insert(&mut self, make: impl FnOnce(Token) -> T) -> Token {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.generations.push(0);
            self.deadlines.push(Tick::NEVER);
            (self.slots.len() - 1) as u32
        });
        let token = Token::new(index, self.generations[index as usize]);
        self.slots[index as usize] = Some(make(token));
        self.count += 1;
        token
    }

    /// The connection of a token, unless it was removed.
    pub fn get(&mut self, token: Token) -> Option<&mut T> {
        let index = token.index() as usize;
        if self.generations.get(index).is_none_or(|g| g % Token::GENERATIONS != token.generation()) {
            return None;
        }
        self.slots[index].as_mut()
    }

    /// Removes a connection and invalidates its token.
    pub fn remove(&mut self, token: Token) -> Option<T> {
        self.get(token)?;
        let index = token.index() as usize;
        self.generations[index] = self.generations[index].wrapping_add(1);
        self.deadlines[index] = Tick::NEVER;
        self.free.push(index as u32);
        self.count -= 1;
        self.slots[index].take()
    }

    /// Sets the deadline of a connection, after which [`Slots::expired`] returns it.
    pub fn set_deadline(&mut self, token: Token, deadline: Tick) {
        self.deadlines[token.index() as usize] = deadline;
        self.earliest = self.earliest.min(deadline);
    }

    /// When the first deadline may have passed, at which to call [`Slots::expired`]. A connection that got more time since leaves an
    /// early one behind, which costs one scan.
    pub fn due(&self) -> Tick {
        self.earliest.max(self.not_before)
    }

    /// The connections whose deadlines have passed. Clears those deadlines.
    pub fn expired(&mut self, now: Tick) -> Vec<Token> {
        let mut expired = Vec::new();
        if now < self.due() {
            return expired;
        }
        self.earliest = Tick::NEVER;
        self.not_before = now.after(Duration::ZERO);
        for (index, deadline) in self.deadlines.iter_mut().enumerate() {
            if *deadline <= now {
                *deadline = Tick::NEVER;
                expired.push(Token::new(index as u32, self.generations[index]));
            }
            self.earliest = self.earliest.min(*deadline);
        }
        expired
    }

    /// The tokens of all connections.
    pub fn tokens(&self) -> Vec<Token> {
        let taken = self.slots.iter().enumerate().filter(|(_, slot)| slot.is_some());
        taken.map(|(index, _)| Token::new(index as u32, self.generations[index])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_does_not_name_the_next_owner_of_its_slot() {
        let mut slots = Slots::new();
        let first = slots.insert(|_| 'a');
        assert_eq!(slots.remove(first), Some('a'));
        let second = slots.insert(|_| 'b');
        assert_eq!(first.index(), second.index());
        assert_eq!(slots.get(first), None);
        assert_eq!(slots.remove(first), None);
        assert_eq!(slots.get(second), Some(&mut 'b'));
        assert_eq!(slots.tokens(), [second]);
    }

    #[test]
    fn a_deadline_expires_once_and_not_after_removal() {
        let mut slots = Slots::new();
        let now = Tick::START;
        let (a, b) = (slots.insert(|_| ()), slots.insert(|_| ()));
        let later = now.after(Duration::from_secs(9));
        slots.set_deadline(a, now);
        slots.set_deadline(b, later);
        assert_eq!(slots.due(), now);
        assert_eq!(slots.expired(now), [a]);
        assert_eq!(slots.due(), later);
        assert_eq!(slots.expired(now), []);
        slots.remove(b);
        assert_eq!(slots.expired(now.after(Duration::from_secs(99))), []);
        assert_eq!(slots.due(), Tick::NEVER);
    }

    #[test]
    fn a_deadline_that_was_moved_costs_one_scan_and_one_in_the_past_waits_for_the_next_tick() {
        let mut slots = Slots::new();
        let token = slots.insert(|_| ());
        let [soon, next, late] = [0, 1, 75].map(|s| Tick::START.after(Duration::from_secs(s)));
        slots.set_deadline(token, soon);
        slots.set_deadline(token, late);
        assert_eq!((slots.due(), slots.expired(soon)), (soon, vec![]));
        assert_eq!(slots.due(), late);
        slots.set_deadline(token, Tick::START);
        assert!(slots.due() > soon && slots.due() < next);
        assert_eq!(slots.expired(soon), []);
        assert_eq!(slots.expired(next), [token]);
    }
}
