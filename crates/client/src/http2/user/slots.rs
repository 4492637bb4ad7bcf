use std::collections::VecDeque;

/// The users of one connection, each with at most one request in flight.
#[derive(Debug)]
pub(super) struct UserSlots<T> {
    all: Vec<T>,
    /// Users without a request, the longest idle first.
    free: VecDeque<u16>,
    /// Users whose requests the server has given back, in the order of repetition.
    kept: VecDeque<u16>,
}

impl<T> UserSlots<T> {
    pub(super) fn new(count: u16, mut make: impl FnMut() -> T) -> UserSlots<T> {
        UserSlots {
            all: (0..count).map(|_| make()).collect(),
            free: (0..count).collect(),
            kept: VecDeque::new(),
        }
    }

    /// A user for a new request; a new one if all have a request.
    pub(super) fn take(&mut self, make: impl FnOnce() -> T) -> u16 {
        // Requests that were given back are repeated before new ones are sent, or never.
        self.free.append(&mut self.kept);
        self.free.pop_front().unwrap_or_else(|| {
            self.all.push(make());
            (self.all.len() - 1) as u16
        })
    }

    /// The user of the next request to repeat.
    pub(super) fn take_again(&mut self, make: impl FnOnce() -> T) -> u16 {
        match self.kept.pop_front() {
            Some(slot) => slot,
            None => self.take(make),
        }
    }

    /// The request of a user is over.
    pub(super) fn free(&mut self, slot: u16) {
        self.free.push_back(slot);
    }

    /// The request of a user will be repeated, after those kept before.
    pub(super) fn keep(&mut self, slot: u16) {
        self.kept.push_back(slot);
    }

    /// All requests are over, except those that will be repeated.
    pub(super) fn reset(&mut self) {
        let kept = &self.kept;
        self.free = (0..self.all.len() as u16).filter(|slot| !kept.contains(slot)).collect();
    }

    pub(super) fn get(&self, slot: u16) -> &T {
        &self.all[usize::from(slot)]
    }

    pub(super) fn get_mut(&mut self, slot: u16) -> &mut T {
        &mut self.all[usize::from(slot)]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.all.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.all.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_given_back_asks_again_and_who_waited_longest_asks_next() {
        let mut slots = UserSlots::new(2, || 'a');
        assert_eq!((slots.take(|| 'b'), slots.take(|| 'b'), slots.take(|| 'b')), (0, 1, 2));
        assert_eq!(slots.get(2), &'b');
        slots.keep(2);
        slots.keep(1);
        slots.reset();
        assert_eq!((slots.take_again(|| 'c'), slots.take_again(|| 'c'), slots.take(|| 'c')), (2, 1, 0));
        slots.free(1);
        slots.free(0);
        assert_eq!((slots.take(|| 'c'), slots.take_again(|| 'c'), slots.iter().count()), (1, 0, 3));
    }
}
