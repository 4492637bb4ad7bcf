//! The connections of one worker.

use pitot_proto::Tick;
use pitot_sys::Token;

/// A slab of connections, whose tokens are never reused, with all deadlines in one compact array. To
/// scan 15,000 deadlines a few times a second takes some ten microseconds and needs no timer structure.
#[derive(Debug)]
pub struct Slots<T> {
    slots: Vec<Option<T>>,
    generations: Vec<u32>,
    deadlines: Vec<Tick>,
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
    }

    /// Appends the connections whose deadlines have passed, and clears those deadlines.
    pub fn expired(&mut self, now: Tick, expired: &mut Vec<Token>) {
        for (index, deadline) in self.deadlines.iter_mut().enumerate() {
            if *deadline <= now {
                *deadline = Tick::NEVER;
                expired.push(Token::new(index as u32, self.generations[index]));
            }
        }
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
    use std::time::Duration;

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
        slots.set_deadline(a, now);
        slots.set_deadline(b, now.after(Duration::from_secs(9)));
        let mut expired = Vec::new();
        slots.expired(now, &mut expired);
        slots.expired(now, &mut expired);
        assert_eq!(expired, [a]);
        slots.remove(b);
        slots.expired(now.after(Duration::from_secs(99)), &mut expired);
        assert_eq!(expired, [a]);
    }
}
