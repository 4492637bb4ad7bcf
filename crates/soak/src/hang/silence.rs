//! Decides from the loads' reports, once a second, whether replies have stopped. It has no clock.
//!
//! A slow load has long pauses although nothing hangs. So the criterion is the number of missing replies: at least `MISSING` at the
//! rate of the last minute. With random arrivals, one window in e^10 = 22,000 is that quiet.

use std::collections::{BTreeMap, VecDeque};

/// The shortest silence, seconds. Loads report each second after it is over, so a hang is seen within two more seconds.
const SHORTEST_S: f64 = 2.0;
/// The longest window, seconds: slower loads show no hang.
const LONGEST_S: f64 = 120.0;
/// The shortest silence of one of several loads, seconds: by then it is known whether all are silent.
const SHORTEST_OF_LOAD_S: f64 = 3.0;
/// The shortest silence of a load that never had a reply while others have: its first reply may take long.
const FIRST_OF_LOAD_S: f64 = 30.0;
/// The fewest missing replies.
const MISSING: f64 = 10.0;
/// Below this share of the previous rate, replies have stopped.
const NOTHING: f64 = 0.01;
/// Time over which the previous rate is averaged, seconds.
const MEMORY_S: f64 = 60.0;

/// A change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// Replies have stopped; the last second with replies was reported at this time, or the loads began then.
    Began {
        /// Seconds since the soak began.
        last_reply_s: f64,
    },
    /// There are replies again.
    Ended,
}

#[derive(Clone, Copy, Debug)]
struct Second {
    told_at_s: f64,
    load: i64,
    replies: u64,
}

/// The replies of one server's loads, or of one of them, over the last seconds.
#[derive(Debug)]
pub struct Silence {
    shortest_s: f64,
    /// For a load without any reply.
    first_s: f64,
    seconds: VecDeque<Second>,
    /// Replies a second of each load, averaged; none before a load has had its first reply.
    usual: BTreeMap<i64, f64>,
    /// Whether a load has sent requests.
    was_asked: bool,
    last_reply_s: Option<f64>,
    is_silent: bool,
}

impl Default for Silence {
    fn default() -> Silence {
        Silence::of_at_least(SHORTEST_S, SHORTEST_S)
    }
}

impl Silence {
    /// For one load of several.
    pub fn of_load() -> Silence {
        Silence::of_at_least(SHORTEST_OF_LOAD_S, FIRST_OF_LOAD_S)
    }

    fn of_at_least(shortest_s: f64, first_s: f64) -> Silence {
        Silence {
            shortest_s,
            first_s,
            seconds: VecDeque::new(),
            usual: BTreeMap::new(),
            was_asked: false,
            last_reply_s: None,
            is_silent: false,
        }
    }

    /// Adds a load's report of a second. `asked` is false if it neither sent requests nor opened connections.
    pub fn second(&mut self, told_at_s: f64, load: i64, replies: u64, asked: bool) {
        self.was_asked |= asked;
        self.last_reply_s.get_or_insert(told_at_s);
        if replies > 0 {
            self.last_reply_s = Some(told_at_s);
        }
        // The usual rate does not change during silence.
        let usual = self.usual.get(&load).copied();
        if !self.is_silent && (replies > 0 || usual.is_some()) {
            let replies = replies as f64;
            let usual = usual.map_or(replies, |before| before + (replies - before) / MEMORY_S);
            self.usual.insert(load, usual);
        }
        self.seconds.push_back(Second { told_at_s, load, replies });
        while self.seconds.front().is_some_and(|first| told_at_s - first.told_at_s > LONGEST_S) {
            self.seconds.pop_front();
        }
    }

    /// Notes that a load or its server has ended, so that missing reports are not silence.
    pub fn forget(&mut self) {
        *self = Silence::of_at_least(self.shortest_s, self.first_s);
    }

    /// Whether replies are missing now.
    pub fn is_silent(&self) -> bool {
        self.is_silent
    }

    /// Decides; call it after each reported second.
    pub fn change(&mut self, now_s: f64) -> Option<Change> {
        let usual: f64 = self.usual.values().sum();
        let window_s = if usual > 0.0 { (MISSING / usual).max(self.shortest_s) } else { self.first_s };
        // A load without requests so far, as with a very low rate, does not wait for replies.
        if window_s > LONGEST_S || !self.was_asked {
            return None;
        }
        // The same number of seconds of each load: a load that does not report says nothing about the server.
        let seconds = window_s.ceil() as usize;
        let mut told: BTreeMap<i64, (usize, u64)> = BTreeMap::new();
        for second in self.seconds.iter().rev() {
            let (count, replies) = told.entry(second.load).or_default();
            if *count < seconds {
                *count += 1;
                *replies += second.replies;
            }
        }
        let is_whole = !told.is_empty() && told.values().all(|(count, _)| *count == seconds);
        let replies: u64 = told.values().map(|(_, replies)| replies).sum();
        let is_nothing = replies as f64 <= NOTHING * usual * seconds as f64;
        match self.is_silent {
            false if is_whole && is_nothing => {
                self.is_silent = true;
                Some(Change::Began { last_reply_s: self.last_reply_s.unwrap_or(now_s) })
            }
            // The newest second decides; earlier ones belong to the silence.
            true => {
                let newest = self.seconds.back().map_or(0, |second| second.replies);
                let is_over = newest as f64 > NOTHING * usual;
                if is_over {
                    self.is_silent = false;
                    self.seconds.clear();
                }
                is_over.then_some(Change::Ended)
            }
            false => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds told one after the other by one load, and the changes with the second at whose end they were seen.
    fn changes(replies: impl IntoIterator<Item = u64>) -> Vec<(usize, Change)> {
        let mut silence = Silence::default();
        let mut seen = Vec::new();
        for (second, replies) in replies.into_iter().enumerate() {
            let now_s = second as f64 + 1.0;
            silence.second(now_s, 1, replies, true);
            seen.extend(silence.change(now_s).map(|change| (second + 1, change)));
        }
        seen
    }

    #[test]
    fn silence_is_seen_after_two_seconds_and_its_end_at_once() {
        let told = changes([900, 1000, 1100, 400, 0, 0, 0, 0, 0, 800, 1000]);
        assert_eq!(told, [(6, Change::Began { last_reply_s: 4.0 }), (10, Change::Ended)]);
    }

    #[test]
    fn a_few_replies_are_silence_too_where_there_were_many() {
        let told = changes([1000, 1000, 1000, 300, 3, 5, 2, 0, 950]);
        assert_eq!(told, [(6, Change::Began { last_reply_s: 6.0 }), (9, Change::Ended)]);
    }

    #[test]
    fn a_server_that_never_answers_is_silent_from_the_begin() {
        assert_eq!(changes([0, 0, 0]), [(2, Change::Began { last_reply_s: 1.0 })]);
        // One that was not asked is not.
        let mut silence = Silence::default();
        for second in 0..5 {
            silence.second(f64::from(second), 1, 0, false);
            assert_eq!(silence.change(f64::from(second)), None);
        }
    }

    #[test]
    fn a_load_that_asks_seldom_is_no_silence() {
        // One reply in ten seconds, and ten in a row that come late.
        assert_eq!(changes((0..200).map(|second| u64::from(second % 10 == 0))), []);
        // Two a second, but by chance none for four seconds.
        assert_eq!(changes([2, 3, 1, 2, 2, 2, 0, 0, 0, 0, 2, 2]), []);
        let began = changes([2, 3, 1, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0]);
        assert!(matches!(began[..], [(12, Change::Began { .. })]), "{began:?}");
    }

    #[test]
    fn one_load_of_two_is_no_silence_of_the_server_and_a_load_that_says_nothing_neither() {
        let mut silence = Silence::default();
        for second in 0..20 {
            let now_s = f64::from(second);
            silence.second(now_s, 1, if second < 10 { 500 } else { 0 }, true);
            assert_eq!(silence.change(now_s), None);
            // The second load is told late, and then not at all.
            if second < 12 {
                silence.second(now_s, 2, 700, true);
                assert_eq!(silence.change(now_s), None);
            }
        }
        silence.second(20.0, 2, 0, true);
        silence.second(21.0, 2, 0, true);
        assert!(matches!(silence.change(21.0), Some(Change::Began { .. })));
        silence.forget();
        assert!(!silence.is_silent());
        assert_eq!(silence.change(30.0), None);
    }
}
