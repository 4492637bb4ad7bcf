//! One shard: a table of items and the order in which they are evicted.
//!
//! Eviction is CLOCK (Corbató, "A paging experiment with the Multics system", 1968) on a list, also known as second
//! chance: items are in the order of their insertion; a hit only marks its item; the oldest item is evicted unless it
//! is marked, in which case it loses the mark and moves to the end of the list. So a hit writes only the entry that it
//! reads anyway, where true LRU would write four. The price: items that were hit since their last turn are ordered by
//! insertion, not by their last hit. An eviction gives at most [`SECOND_CHANCES`] second chances, so that the time under
//! the lock is bounded.

use std::ops::{BitOr, BitOrAssign};

use hashbrown::HashTable;

use super::item::Item;
use crate::memcache::expiry::NEVER;

/// Limit on the marked items that one eviction passes over.
const SECOND_CHANCES: u32 = 64;
/// The index of no entry.
const NONE: u32 = u32::MAX;

/// The index of an item in its shard, valid while the shard is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::memcache) struct Slot(u32);

/// The metadata of an item, with its bytes.
#[derive(Debug)]
pub(in crate::memcache) struct Entry {
    pub(in crate::memcache) item: Item,
    hash: u64,
    /// Changes whenever the item does.
    pub(in crate::memcache) cas: u64,
    pub(in crate::memcache) flags: u32,
    /// The Unix second in which it expires.
    pub(in crate::memcache) expires_s: u32,
    /// The Unix second of the last hit or write.
    pub(in crate::memcache) accessed_s: u32,
    /// Neighbours in the order of eviction; in a free entry, the next free one.
    newer: u32,
    older: u32,
    pub(in crate::memcache) marks: Marks,
}

const _: () = assert!(size_of::<Entry>() <= 64, "an entry has outgrown its cache line");

/// Boolean properties of an item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::memcache) struct Marks(u8);

impl Marks {
    /// It was hit since its last turn in the order of eviction.
    const REFERENCED: Marks = Marks(1);
    /// It was hit since it was written.
    pub(in crate::memcache) const FETCHED: Marks = Marks(2);
    /// It is marked as stale.
    pub(in crate::memcache) const STALE: Marks = Marks(4);
    /// A client has been assigned to write it again.
    pub(in crate::memcache) const TURN_GIVEN: Marks = Marks(8);

    pub(in crate::memcache) fn has(self, mark: Marks) -> bool {
        self.0 & mark.0 != 0
    }

    /// One mark, if it has that.
    pub(in crate::memcache) fn only(self, mark: Marks) -> Marks {
        Marks(self.0 & mark.0)
    }

    pub(in crate::memcache) fn remove(&mut self, mark: Marks) {
        self.0 &= !mark.0;
    }
}

impl BitOr for Marks {
    type Output = Marks;

    fn bitor(self, other: Marks) -> Marks {
        Marks(self.0 | other.0)
    }
}

impl BitOrAssign for Marks {
    fn bitor_assign(&mut self, other: Marks) {
        self.0 |= other.0;
    }
}

/// The new content of an item.
#[derive(Clone, Copy, Debug)]
pub(in crate::memcache) struct New<'a> {
    pub(in crate::memcache) flags: u32,
    pub(in crate::memcache) expires_s: u32,
    /// The value, in two consecutive parts.
    pub(in crate::memcache) value: [&'a [u8]; 2],
}

/// The statistics of a shard.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::memcache) struct Counts {
    pub(in crate::memcache) get_hits: u64,
    pub(in crate::memcache) get_misses: u64,
    /// Misses of items that had expired.
    pub(in crate::memcache) get_expired: u64,
    pub(in crate::memcache) touch_hits: u64,
    pub(in crate::memcache) touch_misses: u64,
    pub(in crate::memcache) writes: u64,
    pub(in crate::memcache) delete_hits: u64,
    pub(in crate::memcache) delete_misses: u64,
    pub(in crate::memcache) incr_hits: u64,
    pub(in crate::memcache) incr_misses: u64,
    pub(in crate::memcache) decr_hits: u64,
    pub(in crate::memcache) decr_misses: u64,
    pub(in crate::memcache) cas_hits: u64,
    pub(in crate::memcache) cas_misses: u64,
    pub(in crate::memcache) cas_badval: u64,
    pub(in crate::memcache) items_created: u64,
    pub(in crate::memcache) evictions: u64,
    pub(in crate::memcache) evicted_unfetched: u64,
    /// Evicted items that had expired already.
    pub(in crate::memcache) reclaimed: u64,
    pub(in crate::memcache) expired_unfetched: u64,
}

impl Counts {
    /// Adds the statistics of another shard.
    pub(in crate::memcache) fn add(&mut self, other: &Counts) {
        self.get_hits += other.get_hits;
        self.get_misses += other.get_misses;
        self.get_expired += other.get_expired;
        self.touch_hits += other.touch_hits;
        self.touch_misses += other.touch_misses;
        self.writes += other.writes;
        self.delete_hits += other.delete_hits;
        self.delete_misses += other.delete_misses;
        self.incr_hits += other.incr_hits;
        self.incr_misses += other.incr_misses;
        self.decr_hits += other.decr_hits;
        self.decr_misses += other.decr_misses;
        self.cas_hits += other.cas_hits;
        self.cas_misses += other.cas_misses;
        self.cas_badval += other.cas_badval;
        self.items_created += other.items_created;
        self.evictions += other.evictions;
        self.evicted_unfetched += other.evicted_unfetched;
        self.reclaimed += other.reclaimed;
        self.expired_unfetched += other.expired_unfetched;
    }
}

/// A part of the cache.
#[derive(Debug)]
pub(in crate::memcache) struct Shard {
    table: HashTable<u32>,
    entries: Vec<Entry>,
    /// The first free entry.
    free: u32,
    newest: u32,
    oldest: u32,
    /// Heap memory of the items, in bytes.
    item_bytes: u64,
    /// Memory limit for items and tables, in bytes.
    room: u64,
    cas: u64,
    /// The Unix second in which a delayed `flush_all` takes effect.
    flush_at_s: u32,
    /// The item of free entries.
    empty: Item,
    pub(in crate::memcache) counts: Counts,
}

impl Shard {
    pub(super) fn new(room: u64) -> Shard {
        Shard {
            table: HashTable::new(),
            entries: Vec::new(),
            free: NONE,
            newest: NONE,
            oldest: NONE,
            item_bytes: 0,
            room,
            cas: 0,
            flush_at_s: NEVER,
            empty: Item::empty(),
            counts: Counts::default(),
        }
    }

    /// The item of a key, if there is one that has not expired.
    #[inline]
    pub(in crate::memcache) fn find(&mut self, hash: u64, key: &[u8], now_s: u32) -> Option<Slot> {
        let entries = &self.entries;
        let equal = |&slot: &u32| {
            let entry = &entries[slot as usize];
            entry.hash == hash && entry.item.key() == key
        };
        let slot = *self.table.find(hash, equal)?;
        let entry = &self.entries[slot as usize];
        if entry.expires_s <= now_s {
            self.counts.get_expired += 1;
            self.counts.expired_unfetched += u64::from(!entry.marks.has(Marks::FETCHED));
            self.remove(Slot(slot));
            return None;
        }
        Some(Slot(slot))
    }

    #[inline]
    pub(in crate::memcache) fn entry(&self, slot: Slot) -> &Entry {
        &self.entries[slot.0 as usize]
    }

    #[inline]
    pub(in crate::memcache) fn entry_mut(&mut self, slot: Slot) -> &mut Entry {
        &mut self.entries[slot.0 as usize]
    }

    /// Marks the item as used, so that it is not evicted at its next turn.
    #[inline]
    pub(in crate::memcache) fn hit(&mut self, slot: Slot, now_s: u32) -> &mut Entry {
        let entry = &mut self.entries[slot.0 as usize];
        entry.marks |= Marks::REFERENCED | Marks::FETCHED;
        entry.accessed_s = now_s;
        entry
    }

    /// Marks the item as used although nothing was read, as by an `add` that it prevents.
    pub(in crate::memcache) fn promote(&mut self, slot: Slot, now_s: u32) {
        let entry = &mut self.entries[slot.0 as usize];
        entry.marks |= Marks::REFERENCED;
        entry.accessed_s = now_s;
    }

    /// Inserts the item of a key that has none.
    pub(in crate::memcache) fn insert(&mut self, hash: u64, key: &[u8], new: New<'_>, now_s: u32) -> Slot {
        let cas = self.next_cas();
        let entry = Entry {
            item: Item::new(key, new.flags, new.value),
            hash,
            cas,
            flags: new.flags,
            expires_s: new.expires_s,
            accessed_s: now_s,
            newer: NONE,
            older: NONE,
            marks: Marks::default(),
        };
        self.counts.items_created += 1;
        self.item_bytes += entry.item.heap_bytes();
        let slot = self.insert_entry(entry);
        let entries = &self.entries;
        self.table.insert_unique(hash, slot, |&slot| entries[slot as usize].hash);
        self.link_newest(slot);
        self.make_room(slot, now_s);
        Slot(slot)
    }

    /// Overwrites an item. It keeps its key and loses its marks.
    pub(in crate::memcache) fn rewrite(&mut self, slot: Slot, new: New<'_>, now_s: u32) {
        let cas = self.next_cas();
        self.counts.items_created += 1;
        let entry = &mut self.entries[slot.0 as usize];
        if !entry.item.overwrite(new.flags, new.value) {
            self.item_bytes -= entry.item.heap_bytes();
            entry.item = Item::new(entry.item.key(), new.flags, new.value);
            self.item_bytes += entry.item.heap_bytes();
        }
        entry.cas = cas;
        entry.flags = new.flags;
        entry.expires_s = new.expires_s;
        entry.accessed_s = now_s;
        // A write is a use, too.
        entry.marks = Marks::REFERENCED;
        self.make_room(slot.0, now_s);
    }

    /// Writes a number over the value of an item, as memcached does: the value keeps its length, filled with blanks, and
    /// the item its marks. If the number is longer, it is a new item but for its flags and time of expiry.
    pub(in crate::memcache) fn renumber(&mut self, slot: Slot, digits: &[u8], now_s: u32) {
        let entry = &mut self.entries[slot.0 as usize];
        let len = entry.item.value().len();
        let is_longer = digits.len() > len;
        if !is_longer && entry.item.overwrite_padded(digits) {
            self.cas += 1;
            entry.cas = self.cas;
            entry.accessed_s = now_s;
            entry.marks |= Marks::REFERENCED;
            return;
        }
        let (flags, expires_s, marks) = (entry.flags, entry.expires_s, entry.marks);
        let padding = vec![b' '; len.saturating_sub(digits.len())];
        self.rewrite(slot, New { flags, expires_s, value: [digits, &padding] }, now_s);
        if !is_longer {
            self.entries[slot.0 as usize].marks |= marks;
        }
    }

    pub(in crate::memcache) fn remove(&mut self, slot: Slot) {
        let Slot(slot) = slot;
        let hash = self.entries[slot as usize].hash;
        if let Ok(found) = self.table.find_entry(hash, |&other| other == slot) {
            found.remove();
        }
        self.unlink(slot);
        let entry = &mut self.entries[slot as usize];
        self.item_bytes -= entry.item.heap_bytes();
        entry.item = self.empty.clone();
        entry.newer = self.free;
        self.free = slot;
    }

    /// A new unique number, which no item of this shard, and so no item of the key, has had.
    pub(in crate::memcache) fn next_cas(&mut self) -> u64 {
        self.cas += 1;
        self.cas
    }

    /// Number of items, including expired ones that have not been removed yet.
    pub(in crate::memcache) fn len(&self) -> usize {
        self.table.len()
    }

    /// Memory of items and tables, in bytes.
    pub(in crate::memcache) fn bytes_used(&self) -> u64 {
        let entries = self.entries.capacity() * size_of::<Entry>();
        self.item_bytes + (entries + self.table.allocation_size()) as u64
    }

    /// Invalidates, at the given time, all items written before it.
    pub(in crate::memcache) fn flush_at(&mut self, at_s: u32, now_s: u32) {
        self.flush_at_s = at_s;
        self.flush_if_due(now_s);
    }

    #[inline]
    pub(super) fn flush_if_due(&mut self, now_s: u32) {
        if self.flush_at_s <= now_s {
            self.flush();
        }
    }

    #[cold]
    fn flush(&mut self) {
        *self = Shard { cas: self.cas, counts: self.counts, ..Shard::new(self.room) };
    }

    /// Stores an entry in a free slot.
    fn insert_entry(&mut self, entry: Entry) -> u32 {
        if self.free == NONE {
            let len = self.entries.len();
            if len == self.entries.capacity() {
                // Grows by less than the usual doubling, which would leave nearly half of the memory unused.
                self.entries.reserve_exact((len / 8).max(16));
            }
            self.entries.push(entry);
            len as u32
        } else {
            let slot = self.free;
            let free = &mut self.entries[slot as usize];
            self.free = free.newer;
            *free = entry;
            slot
        }
    }

    /// Evicts items other than `kept` until everything fits.
    fn make_room(&mut self, kept: u32, now_s: u32) {
        let mut chances = SECOND_CHANCES;
        while self.bytes_used() > self.room && self.table.len() > 1 {
            let slot = self.oldest;
            let entry = &mut self.entries[slot as usize];
            let expired = entry.expires_s <= now_s;
            if slot == kept || (entry.marks.has(Marks::REFERENCED) && !expired && chances > 0) {
                entry.marks.remove(Marks::REFERENCED);
                chances = chances.saturating_sub(1);
                self.unlink(slot);
                self.link_newest(slot);
                continue;
            }
            let unfetched = u64::from(!entry.marks.has(Marks::FETCHED));
            if expired {
                self.counts.reclaimed += 1;
                self.counts.expired_unfetched += unfetched;
            } else {
                self.counts.evictions += 1;
                self.counts.evicted_unfetched += unfetched;
                chances = SECOND_CHANCES;
            }
            self.remove(Slot(slot));
        }
    }

    fn link_newest(&mut self, slot: u32) {
        let newest = self.newest;
        let entry = &mut self.entries[slot as usize];
        (entry.newer, entry.older) = (NONE, newest);
        match newest {
            NONE => self.oldest = slot,
            newest => self.entries[newest as usize].newer = slot,
        }
        self.newest = slot;
    }

    fn unlink(&mut self, slot: u32) {
        let Entry { newer, older, .. } = self.entries[slot as usize];
        match newer {
            NONE => self.newest = older,
            newer => self.entries[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.entries[older as usize].newer = newer,
        }
    }
}
