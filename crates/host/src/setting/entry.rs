//! What a kind of settings is.

use std::io;

use crate::machine::Machine;

/// Concrete keys with their values, or a sentence that says why not.
pub(super) type Expanded = Result<Vec<Change>, String>;

/// A kind of settings.
#[derive(Debug)]
pub struct Setting {
    /// The kind.
    pub name: &'static str,
    /// The form of its keys.
    pub keys: &'static str,
    /// What it sets.
    pub summary: &'static str,
    /// What a user needs to change it.
    pub right: &'static str,
    /// Whether all of it belongs to a network namespace.
    pub of_network: bool,
    /// Whether the kernel takes a value of a key as it is written, or may round it.
    pub(super) is_exact: fn(&str) -> bool,
    /// Why a concrete key, which was found with a value, cannot have another one, as far as that can be told without
    /// writing: a sentence.
    pub(super) refuses: fn(&Machine, &str, &str, &str) -> Option<String>,
    /// Whether a concrete key is of this kind.
    pub(super) owns: fn(&str) -> bool,
    /// What `key=value` stands for on this machine: concrete keys with their values. `None` if it is not of this kind;
    /// an error is a sentence.
    pub(super) expand: fn(&Machine, &str, &str) -> Option<Expanded>,
    /// Reads a concrete key.
    pub(super) read: fn(&Machine, &str) -> io::Result<String>,
    /// Writes a concrete key.
    pub(super) write: fn(&Machine, &str, &str) -> io::Result<()>,
    /// Whether this user may write a concrete key, as far as that can be told without writing.
    pub(super) may_write: fn(&Machine, &str) -> io::Result<()>,
    /// The file that takes the value of a concrete key as it is written, at every boot; none if there is no such file, or it has
    /// another name then.
    pub(super) file_at_boot: fn(&str) -> Option<String>,
}

/// A concrete key, and the value that it is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
}

impl Change {
    pub(super) fn new(key: impl Into<String>, value: impl Into<String>) -> Change {
        Change { key: key.into(), value: value.into() }
    }
}

impl Setting {
    /// What it is set to.
    ///
    /// # Errors
    /// That of the kernel: most often there is no such thing on this machine.
    pub fn read(&self, machine: &Machine, key: &str) -> io::Result<String> {
        (self.read)(machine, key)
    }

    /// Sets it.
    ///
    /// # Errors
    /// That of the kernel.
    pub fn write(&self, machine: &Machine, key: &str, value: &str) -> io::Result<()> {
        (self.write)(machine, key, value)
    }

    /// Whether this user may set it.
    ///
    /// # Errors
    /// EACCES or EPERM for want of a right, EROFS in a container.
    pub fn may_write(&self, machine: &Machine, key: &str) -> io::Result<()> {
        (self.may_write)(machine, key)
    }

    /// Why a key that was found with a value cannot have this other one, as far as that can be told without writing.
    pub fn refuses(&self, machine: &Machine, key: &str, found: &str, value: &str) -> Option<String> {
        (self.refuses)(machine, key, found, value)
    }

    /// Whether the kernel takes a value as it is written; else it may round it.
    pub fn is_exact(&self, key: &str) -> bool {
        (self.is_exact)(key)
    }

    /// Whether a key of this kind belongs to the network namespace of the process.
    pub fn is_of_network(&self, key: &str) -> bool {
        self.of_network || key.starts_with("net.")
    }
}
