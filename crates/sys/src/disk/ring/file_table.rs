//! The files registered with a ring.

use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd, RawFd};

/// Registered files by descriptor. When the table is full the oldest entry is replaced.
pub(super) struct FileTable<F> {
    /// Keeps each registered file open, so that its descriptor cannot come to mean another one.
    entries: Vec<Option<F>>,
    by_descriptor: HashMap<RawFd, u32>,
    /// The entry to replace next.
    next: u32,
}

impl<F: AsFd + Clone> FileTable<F> {
    pub(super) fn new(size: u32) -> FileTable<F> {
        FileTable {
            entries: (0..size).map(|_| None).collect(),
            by_descriptor: HashMap::with_capacity(size as usize),
            next: 0,
        }
    }

    /// The index of a registered file.
    pub(super) fn index_of(&self, file: &F) -> Option<u32> {
        self.by_descriptor.get(&file.as_fd().as_raw_fd()).copied()
    }

    /// The index at which the next file is to be registered.
    pub(super) fn next(&self) -> u32 {
        self.next
    }

    /// Notes that a file was registered at the next index, in place of the one that was there.
    pub(super) fn replace_next(&mut self, file: &F) {
        let index = self.next;
        self.next = (index + 1) % self.entries.len() as u32;
        if let Some(replaced) = self.entries[index as usize].replace(file.clone()) {
            self.by_descriptor.remove(&replaced.as_fd().as_raw_fd());
        }
        self.by_descriptor.insert(file.as_fd().as_raw_fd(), index);
    }
}
