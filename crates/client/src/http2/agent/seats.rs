use std::collections::VecDeque;

/// Those who ask on one connection, each with at most one request under way.
#[derive(Debug)]
pub(super) struct Seats<T> {
    all: Vec<T>,
    /// Who asks for nothing, the longest idle first.
    free: VecDeque<u16>,
    /// Whose requests the server has given back, in the order in which they are repeated.
    kept: VecDeque<u16>,
}

impl<T> Seats<T> {
    pub(super) fn new(count: u16, mut make: impl FnMut() -> T) -> Seats<T> {
        Seats { all: (0..count).map(|_| make()).collect(), free: (0..count).collect(), kept: VecDeque::new() }
    }

    /// A seat for a new request. There is one more if all have a request.
    pub(super) fn take(&mut self, make: impl FnOnce() -> T) -> u16 {
        // Requests that were given back are repeated before others are sent, or never.
        self.free.append(&mut self.kept);
        self.free.pop_front().unwrap_or_else(|| {
            self.all.push(make());
            (self.all.len() - 1) as u16
        })
    }

    /// The seat of the next request that is repeated.
    pub(super) fn take_again(&mut self, make: impl FnOnce() -> T) -> u16 {
        match self.kept.pop_front() {
            Some(seat) => seat,
            None => self.take(make),
        }
    }

    /// The request of a seat is over.
    pub(super) fn free(&mut self, seat: u16) {
        self.free.push_back(seat);
    }

    /// The request of a seat will be repeated, behind those that were kept before.
    pub(super) fn keep(&mut self, seat: u16) {
        self.kept.push_back(seat);
    }

    /// All requests are over, but for those that will be repeated.
    pub(super) fn reset(&mut self) {
        let kept = &self.kept;
        self.free = (0..self.all.len() as u16).filter(|seat| !kept.contains(seat)).collect();
    }

    pub(super) fn get(&self, seat: u16) -> &T {
        &self.all[usize::from(seat)]
    }

    pub(super) fn get_mut(&mut self, seat: u16) -> &mut T {
        &mut self.all[usize::from(seat)]
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
        let mut seats = Seats::new(2, || 'a');
        assert_eq!((seats.take(|| 'b'), seats.take(|| 'b'), seats.take(|| 'b')), (0, 1, 2));
        assert_eq!(seats.get(2), &'b');
        seats.keep(2);
        seats.keep(1);
        seats.reset();
        assert_eq!((seats.take_again(|| 'c'), seats.take_again(|| 'c'), seats.take(|| 'c')), (2, 1, 0));
        seats.free(1);
        seats.free(0);
        assert_eq!((seats.take(|| 'c'), seats.take_again(|| 'c'), seats.iter().count()), (1, 0, 3));
    }
}
