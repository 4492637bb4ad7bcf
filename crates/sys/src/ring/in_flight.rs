//! Operations in flight and the memory that they own, which the kernel may read or write until they complete.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::address::Address;
use super::payload::Payload;
use crate::Token;

/// What an operation owns.
pub(super) enum Owned {
    /// `taken`: of a send whose bytes the kernel still uses, its result.
    Send {
        token: Token,
        payload: Box<Payload>,
        taken: i32,
    },
    Read {
        token: Token,
        buffer: Vec<u8>,
        _file: Arc<OwnedFd>,
    },
    Connect {
        token: Token,
        address: Box<Address>,
    },
}

enum Slot {
    Free { next: u32 },
    Occupied(Owned),
}

const NO_SLOT: u32 = u32::MAX;

/// Slots for operations, of which the free ones form a list.
pub(super) struct InFlight {
    slots: Vec<Slot>,
    free: u32,
    count: usize,
}

impl InFlight {
    pub(super) fn new() -> InFlight {
        InFlight { slots: Vec::new(), free: NO_SLOT, count: 0 }
    }

    /// Operations in flight that own memory.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Keeps what an operation owns until [`InFlight::remove`] is given the number of its slot.
    pub(super) fn insert(&mut self, owned: Owned) -> u32 {
        self.count += 1;
        if self.free == NO_SLOT {
            self.slots.push(Slot::Occupied(owned));
            return (self.slots.len() - 1) as u32;
        }
        let slot = self.free;
        match std::mem::replace(&mut self.slots[slot as usize], Slot::Occupied(owned)) {
            Slot::Free { next } => self.free = next,
            Slot::Occupied(_) => unreachable!("the free list names free slots"),
        }
        slot
    }

    /// Notes the result of a send whose bytes are still in use.
    pub(super) fn taken(&mut self, slot: u32, result: i32) {
        if let Slot::Occupied(Owned::Send { taken, .. }) = &mut self.slots[slot as usize] {
            *taken = result;
        }
    }

    /// Gives back what a completed operation owned.
    pub(super) fn remove(&mut self, slot: u32) -> Owned {
        let Slot::Occupied(owned) =
            std::mem::replace(&mut self.slots[slot as usize], Slot::Free { next: self.free })
        else {
            unreachable!("a completion names an occupied slot")
        };
        self.free = slot;
        self.count -= 1;
        owned
    }

    /// Leaks what the operations own, as the kernel may still use it.
    pub(super) fn leak(&mut self) {
        std::mem::forget(std::mem::take(&mut self.slots));
    }
}
