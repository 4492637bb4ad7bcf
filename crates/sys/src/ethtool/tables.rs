//! Queues, rings and coalescing: tables of fixed length, of which one word is read, or changed among the others.

use std::io;

use super::command::Command;

/// A table: the commands that get and set it, and its words with the command's number.
#[derive(Debug)]
struct Table {
    get: u32,
    set: u32,
    words: usize,
}

/// struct ethtool_channels.
const CHANNELS: Table = Table { get: 0x3c, set: 0x3d, words: 9 };
/// struct ethtool_ringparam.
const RINGS: Table = Table { get: 0x10, set: 0x11, words: 9 };
/// struct ethtool_coalesce.
const COALESCING: Table = Table { get: 0x0e, set: 0x0f, words: 23 };

/// The longest of the tables.
const WORDS_MAX: usize = 23;

/// One number that an interface can be set to.
#[derive(Debug)]
pub struct Field {
    /// As ethtool(8) calls it.
    pub name: &'static str,
    /// What it is, in a few words with the unit.
    pub summary: &'static str,
    table: &'static Table,
    index: usize,
    /// The word with the most that the driver takes, where there is one.
    max: Option<usize>,
}

const fn field(
    name: &'static str,
    summary: &'static str,
    table: &'static Table,
    index: usize,
    max: Option<usize>,
) -> Field {
    Field { name, summary, table, index, max }
}

/// Every field.
pub static FIELDS: &[Field] = &[
    field("rx-queues", "queues that only receive", &CHANNELS, 5, Some(1)),
    field("tx-queues", "queues that only send", &CHANNELS, 6, Some(2)),
    field("combined-queues", "queues that do both", &CHANNELS, 8, Some(4)),
    field("rx-ring", "descriptors of each receive ring", &RINGS, 5, Some(1)),
    field("tx-ring", "descriptors of each send ring", &RINGS, 8, Some(4)),
    field("rx-usecs", "microseconds from a received frame to its interrupt, at most", &COALESCING, 1, None),
    field("rx-frames", "received frames for one interrupt, at most", &COALESCING, 2, None),
    field("tx-usecs", "microseconds from a sent frame to its interrupt, at most", &COALESCING, 5, None),
    field("tx-frames", "sent frames for one interrupt, at most", &COALESCING, 6, None),
    field("adaptive-rx", "1 if the driver chooses rx-usecs by itself", &COALESCING, 10, None),
    field("adaptive-tx", "1 if the driver chooses tx-usecs by itself", &COALESCING, 11, None),
];

impl Field {
    fn table(&self, interface: &str) -> io::Result<[u32; WORDS_MAX]> {
        let mut words = [0; WORDS_MAX];
        words[0] = self.table.get;
        Command(&mut words).send(interface)?;
        Ok(words)
    }

    /// What the interface is set to.
    ///
    /// # Errors
    /// ENODEV if there is no such interface, EOPNOTSUPP if its driver has no such thing.
    pub fn read(&self, interface: &str) -> io::Result<u32> {
        Ok(self.table(interface)?[self.index])
    }

    /// The most that the driver takes; `None` if it does not say.
    pub fn max(&self, interface: &str) -> Option<u32> {
        let max = self.max?;
        self.table(interface).ok().map(|words| words[max])
    }

    /// Sets it, and leaves the other words of its table as they are. Drivers may round.
    ///
    /// # Errors
    /// As [`read`](Field::read); EINVAL if it is too large, EPERM without CAP_NET_ADMIN.
    pub fn write(&self, interface: &str, value: u32) -> io::Result<()> {
        let mut words = self.table(interface)?;
        debug_assert!(self.table.words <= WORDS_MAX && self.index < self.table.words);
        words[0] = self.table.set;
        words[self.index] = value;
        Command(&mut words).send(interface)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_names_of_their_own_and_lie_in_their_tables() {
        for (i, field) in FIELDS.iter().enumerate() {
            assert!(FIELDS[..i].iter().all(|other| other.name != field.name), "{}", field.name);
            assert!(field.index < field.table.words && field.table.words <= WORDS_MAX);
        }
    }

    #[test]
    fn an_interface_that_is_not_there_is_an_error() {
        for field in FIELDS {
            let error = field.read("no-such-if").unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::ENODEV), "{}", field.name);
            assert_eq!(field.max("no-such-if"), None);
        }
    }
}
