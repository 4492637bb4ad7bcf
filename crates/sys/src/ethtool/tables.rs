//! Queues, rings and coalescing: numbers, each an attribute of a message or a word of a table.

use std::io;

use super::attributes::{attribute, find, number};
use super::command::Command;
use super::netlink;

/// What belongs together: the messages that get and set it, and the commands of the ioctl with the words of their table.
#[derive(Debug)]
struct Table {
    get_message: u8,
    set_message: u8,
    get: u32,
    set: u32,
    words: usize,
}

/// `ETHTOOL_MSG_CHANNELS_GET` and struct ethtool_channels.
const CHANNELS: Table = Table { get_message: 17, set_message: 18, get: 0x3c, set: 0x3d, words: 9 };
/// `ETHTOOL_MSG_RINGS_GET` and struct ethtool_ringparam.
const RINGS: Table = Table { get_message: 15, set_message: 16, get: 0x10, set: 0x11, words: 9 };
/// `ETHTOOL_MSG_COALESCE_GET` and struct ethtool_coalesce.
const COALESCING: Table = Table { get_message: 19, set_message: 20, get: 0x0e, set: 0x0f, words: 23 };

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
    value: Place,
    /// Where the most is that the driver takes, if it is anywhere.
    max: Option<Place>,
    /// Whether the attribute is a byte.
    is_switch: bool,
}

/// Where a number is: the kind of its attribute, and its word in the table.
#[derive(Clone, Copy, Debug)]
struct Place {
    kind: u16,
    word: usize,
}

const fn at(kind: u16, word: usize) -> Place {
    Place { kind, word }
}

/// A number that has a most.
const fn bounded(
    name: &'static str,
    summary: &'static str,
    table: &'static Table,
    value: Place,
    max: Place,
) -> Field {
    Field { name, summary, table, value, max: Some(max), is_switch: false }
}

const fn coalescing(name: &'static str, summary: &'static str, value: Place) -> Field {
    Field { name, summary, table: &COALESCING, value, max: None, is_switch: false }
}

const fn switch(name: &'static str, summary: &'static str, value: Place) -> Field {
    Field { name, summary, table: &COALESCING, value, max: None, is_switch: true }
}

/// Every field.
pub static FIELDS: &[Field] = &[
    bounded("rx-queues", "queues that only receive", &CHANNELS, at(6, 5), at(2, 1)),
    bounded("tx-queues", "queues that only send", &CHANNELS, at(7, 6), at(3, 2)),
    bounded("combined-queues", "queues that do both", &CHANNELS, at(9, 8), at(5, 4)),
    bounded("rx-ring", "descriptors of each receive ring", &RINGS, at(6, 5), at(2, 1)),
    bounded("tx-ring", "descriptors of each send ring", &RINGS, at(9, 8), at(5, 4)),
    coalescing("rx-usecs", "microseconds from a received frame to its interrupt, at most", at(2, 1)),
    coalescing("rx-frames", "received frames for one interrupt, at most", at(3, 2)),
    coalescing("tx-usecs", "microseconds from a sent frame to its interrupt, at most", at(6, 5)),
    coalescing("tx-frames", "sent frames for one interrupt, at most", at(7, 6)),
    switch("adaptive-rx", "1 if the driver chooses rx-usecs", at(11, 10)),
    switch("adaptive-tx", "1 if the driver chooses tx-usecs", at(12, 11)),
];

impl Field {
    /// What the interface is set to.
    ///
    /// # Errors
    /// ENODEV if there is no such interface, EOPNOTSUPP if its driver has no such thing.
    pub fn read(&self, interface: &str) -> io::Result<u32> {
        self.at(interface, self.value)
    }

    /// The most that the driver takes; `None` if it does not say.
    pub fn max(&self, interface: &str) -> Option<u32> {
        self.at(interface, self.max?).ok()
    }

    /// Sets it, and nothing else. Drivers may round.
    ///
    /// # Errors
    /// As [`read`](Field::read); EINVAL if it is too large, EPERM without CAP_NET_ADMIN.
    pub fn write(&self, interface: &str, value: u32) -> io::Result<()> {
        let bytes = value.to_ne_bytes();
        let content = if self.is_switch {
            attribute(self.value.kind, &[u8::from(value != 0)])
        } else {
            attribute(self.value.kind, &bytes)
        };
        match netlink::ask(interface, self.table.set_message, &content) {
            Some(answer) => answer.map(drop),
            None => self.write_table(interface, value),
        }
    }

    fn at(&self, interface: &str, place: Place) -> io::Result<u32> {
        match netlink::ask(interface, self.table.get_message, &[]) {
            Some(answer) => find(&answer?, place.kind)
                .and_then(number)
                .ok_or_else(|| io::Error::from_raw_os_error(libc::EOPNOTSUPP)),
            None => Ok(self.table(interface)?[place.word]),
        }
    }

    fn table(&self, interface: &str) -> io::Result<[u32; WORDS_MAX]> {
        let mut words = [0; WORDS_MAX];
        words[0] = self.table.get;
        Command(&mut words).send(interface)?;
        Ok(words)
    }

    /// What others set meanwhile in the same table is taken back.
    fn write_table(&self, interface: &str, value: u32) -> io::Result<()> {
        let mut words = self.table(interface)?;
        debug_assert!(self.table.words <= WORDS_MAX && self.value.word < self.table.words);
        words[0] = self.table.set;
        words[self.value.word] = value;
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
            assert!(field.value.word < field.table.words && field.table.words <= WORDS_MAX);
            // The first attribute names the interface.
            assert!(field.value.kind > 1 && field.max.is_none_or(|max| max.kind < field.value.kind));
        }
    }

    /// An answer omits what a driver does not offer. Adaptive coalescing changes without a request.
    #[test]
    fn messages_and_tables_tell_of_the_same_numbers() {
        for entry in std::fs::read_dir("/sys/class/net").into_iter().flatten().flatten() {
            let interface = entry.file_name().to_string_lossy().into_owned();
            for field in FIELDS.iter().filter(|field| field.max.is_some()) {
                let (Ok(value), Ok(table)) = (field.read(&interface), field.table(&interface)) else {
                    continue;
                };
                assert_eq!(value, table[field.value.word], "{} of {interface}", field.name);
                assert_eq!(field.max(&interface), field.max.map(|max| table[max.word]), "{}", field.name);
            }
        }
    }

    #[test]
    fn an_interface_that_is_not_there_is_an_error() {
        for field in FIELDS {
            let error = field.read("no-such-if").unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::ENODEV), "{}", field.name);
            assert!(field.table("no-such-if").is_err());
            assert_eq!(field.max("no-such-if"), None);
        }
    }
}
