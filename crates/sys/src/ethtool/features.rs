//! Features of an interface, of which the offloads are some, one bit each under the kernel's own name.

use std::io;

use super::attributes::{attribute, attributes, find, nest, text, word};
use super::command::Command;
use super::netlink;

/// Of netlink (linux/ethtool_netlink.h): the messages, the sets of bits in them, and what a bit is made of.
const FEATURES_GET: u8 = 11;
const FEATURES_SET: u8 = 12;
const HARDWARE: u16 = 2;
const WANTED: u16 = 3;
const ACTIVE: u16 = 4;
const SET_BITS: u16 = 3;
const BIT: u16 = 1;
const BIT_NAME: u16 = 2;
const BIT_VALUE: u16 = 3;

/// Of the ioctl.
const GSSET_INFO: u32 = 0x37;
const GSTRINGS: u32 = 0x1b;
const GFEATURES: u32 = 0x3a;
const SFEATURES: u32 = 0x3b;
/// `ETH_SS_FEATURES`: the set of the features' names.
const NAMES: u32 = 4;
/// Bytes of a name with its padding (`ETH_GSTRING_LEN`), in words.
const NAME_WORDS: usize = 8;
/// More features than any kernel has.
const FEATURES_MAX: usize = 1024;

/// One feature of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// The kernel's name: `rx-gro`.
    pub name: String,
    /// Whether it can be switched.
    pub can_change: bool,
    /// Whether it is asked for.
    pub is_requested: bool,
    /// Whether it is on: what is asked for can be off if another feature that it needs is.
    pub is_active: bool,
}

/// All features of an interface.
///
/// # Errors
/// ENODEV if there is no such interface.
pub fn features(interface: &str) -> io::Result<Vec<Feature>> {
    match netlink::ask(interface, FEATURES_GET, &[]) {
        Some(answer) => Ok(of_answer(&answer?)),
        None => of_tables(interface),
    }
}

/// Asks for a feature, or no longer.
///
/// # Errors
/// ENODEV, EOPNOTSUPP or ENOENT if there is no such feature or it cannot be switched, EPERM without CAP_NET_ADMIN.
pub fn set_feature(interface: &str, name: &str, on: bool) -> io::Result<()> {
    let mut bit = text(BIT_NAME, name);
    if on {
        bit.extend(attribute(BIT_VALUE, &[]));
    }
    match netlink::ask(interface, FEATURES_SET, &nest(WANTED, &nest(SET_BITS, &nest(BIT, &bit)))) {
        Some(answer) => answer.map(drop),
        None => set_in_tables(interface, name, on),
    }
}

/// The features of an answer. Its set of what the hardware can change names all that there are, with a value where it can; the
/// others name only what is in them.
fn of_answer(answer: &[u8]) -> Vec<Feature> {
    let bits = |set: u16| {
        let bits = find(answer, set).and_then(|set| find(set, SET_BITS)).unwrap_or_default();
        attributes(bits).map(|(_, bit)| bit)
    };
    let name = |bit| find(bit, BIT_NAME).map(word).unwrap_or_default();
    let (wanted, active): (Vec<String>, Vec<String>) =
        (bits(WANTED).map(name).collect(), bits(ACTIVE).map(name).collect());
    let feature = |bit| {
        let name = name(bit);
        (!name.is_empty()).then(|| Feature {
            can_change: find(bit, BIT_VALUE).is_some(),
            is_requested: wanted.contains(&name),
            is_active: active.contains(&name),
            name,
        })
    };
    bits(HARDWARE).filter_map(feature).collect()
}

fn of_tables(interface: &str) -> io::Result<Vec<Feature>> {
    let names = names(interface)?;
    let blocks = names.len().div_ceil(32);
    // struct ethtool_gfeatures: the command, the number of blocks, and of each block what is available, requested,
    // active, and never changed.
    let mut words = vec![0; 2 + blocks * 4];
    (words[0], words[1]) = (GFEATURES, blocks as u32);
    Command(&mut words).send(interface)?;
    let bit = |i: usize, column: usize| words[2 + i / 32 * 4 + column] >> (i % 32) & 1 == 1;
    let feature = |(i, name): (usize, String)| {
        (!name.is_empty()).then(|| Feature {
            name,
            can_change: bit(i, 0),
            is_requested: bit(i, 1),
            is_active: bit(i, 2),
        })
    };
    Ok(names.into_iter().enumerate().filter_map(feature).collect())
}

fn set_in_tables(interface: &str, name: &str, on: bool) -> io::Result<()> {
    let names = names(interface)?;
    let index = names.iter().position(|other| other == name).ok_or(io::ErrorKind::NotFound)?;
    let blocks = names.len().div_ceil(32);
    // struct ethtool_sfeatures: the command, the number of blocks, and of each block which bits are meant, and the bits.
    let mut words = vec![0; 2 + blocks * 2];
    (words[0], words[1]) = (SFEATURES, blocks as u32);
    let bit = 1 << (index % 32);
    words[2 + index / 32 * 2] = bit;
    words[2 + index / 32 * 2 + 1] = if on { bit } else { 0 };
    Command(&mut words).send(interface)
}

/// The names of all features by their bits; empty where a bit has none.
fn names(interface: &str) -> io::Result<Vec<String>> {
    // struct ethtool_sset_info: the command, a word of padding, a mask of 64 bits, and the length of each set in it.
    let mut info = [GSSET_INFO, 0, 1 << NAMES, 0, 0, 0];
    Command(&mut info).send(interface)?;
    let count = info[4] as usize;
    if info[2] == 0 || count > FEATURES_MAX {
        return Err(io::ErrorKind::Unsupported.into());
    }
    // struct ethtool_gstrings: the command, the set, the number of names, and the names.
    let mut words = vec![0; 3 + count * NAME_WORDS];
    (words[0], words[1], words[2]) = (GSTRINGS, NAMES, count as u32);
    Command(&mut words).send(interface)?;
    let name = |words: &[u32]| {
        let bytes = words.iter().flat_map(|word| word.to_ne_bytes()).take_while(|byte| *byte != 0);
        String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned()
    };
    Ok(words[3..].chunks_exact(NAME_WORDS).map(name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_has_features_and_a_missing_interface_none() {
        let found = features("lo").unwrap();
        assert!(found.iter().any(|f| f.name == "tx-generic-segmentation"), "{found:?}");
        assert!(features("no-such-if").is_err());
        assert!(set_feature("no-such-if", "rx-gro", true).is_err());
        assert!(set_feature("lo", "no-such-feature", true).is_err());
        assert!(set_in_tables("lo", "no-such-feature", true).is_err());
    }

    #[test]
    fn an_answer_tells_what_can_be_changed_what_is_asked_for_and_what_is_on() {
        let bit = |name: &str, value: &[u8]| nest(BIT, &[text(BIT_NAME, name), value.to_vec()].concat());
        let set = |kind: u16, bits: &[Vec<u8>]| nest(kind, &nest(SET_BITS, &bits.concat()));
        let yes = attribute(BIT_VALUE, &[]);
        let answer = [
            set(HARDWARE, &[bit("rx-gro", &yes), bit("tx-lockless", &[])]),
            set(WANTED, &[bit("rx-gro", &[])]),
            set(ACTIVE, &[bit("tx-lockless", &[])]),
        ];
        let found = of_answer(&answer.concat());
        let [gro, lockless] = &found[..] else { panic!("{found:?}") };
        assert!(gro.can_change && gro.is_requested && !gro.is_active, "{gro:?}");
        assert!(!lockless.can_change && !lockless.is_requested && lockless.is_active, "{lockless:?}");
        assert_eq!(of_answer(&[]), []);
    }

    #[test]
    fn messages_and_tables_tell_of_the_same_features() {
        let by_name = |mut features: Vec<Feature>| {
            features.sort_by(|a, b| a.name.cmp(&b.name));
            features
        };
        assert_eq!(by_name(features("lo").unwrap()), by_name(of_tables("lo").unwrap()));
    }
}
