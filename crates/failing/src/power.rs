//! What a power cut may leave of what a program did: at each point, in each order that fsync(2) permits.

use crate::disk::{Disk, Unit};
use crate::record::{Record, Step};

/// All combinations of so many units are looked at. Of more: each beginning, and each unit that is missing alone or there alone.
const COMBINED_MAX: usize = 12;

/// Which of the units that are not safe are on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Those whose bits are set.
    These(u32),
    /// The first ones.
    First(usize),
    /// All but one.
    Without(usize),
    /// One.
    Only(usize),
}

impl Order {
    fn has(self, unit: usize) -> bool {
        match self {
            Order::These(bits) => bits >> unit & 1 == 1,
            Order::First(count) => unit < count,
            Order::Without(other) => unit != other,
            Order::Only(one) => unit == one,
        }
    }

    fn all(count: usize, is_decisive: bool) -> Vec<Order> {
        if !is_decisive {
            return vec![Order::First(0), Order::First(count)];
        }
        if count <= COMBINED_MAX {
            return (0..1 << count).map(Order::These).collect();
        }
        let first = (0..=count).map(Order::First);
        first.chain((0..count).map(Order::Without)).chain((0..count).map(Order::Only)).collect()
    }
}

/// Where the power is cut, and what is on the disk then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cut {
    /// Before this step of the record.
    pub step: usize,
    /// What of the steps before is on the disk.
    pub order: Order,
}

struct Pending {
    unit: Unit,
    /// It is safe, and stands here because one before it is not.
    is_safe: bool,
    /// fsync(2) of its file has failed, and the next one says nothing of it: the kernel takes the pages for written. What
    /// directories hold it keeps until that is written.
    is_doubtful: bool,
}

/// Calls `visit` for each cut from a step on. All orders are looked at before what synchronises, what is said, and at the end:
/// between those everything and nothing will do, as all else is an order of the next such point too.
pub fn each_cut(record: &Record, from: usize, visit: &mut dyn FnMut(Cut, &dyn Fn() -> Disk)) {
    let mut base = record.before.clone();
    base.add_those_of(&record.after);
    let mut pending: Vec<Pending> = Vec::new();
    for step in 0..=record.steps.len() {
        let next = record.steps.get(step);
        let is_decisive = !matches!(next, Some(Step::Change(_)));
        let count = pending.iter().filter(|pending| !pending.is_safe).count();
        let orders = if step < from { Vec::new() } else { Order::all(count, is_decisive) };
        for order in orders {
            let disk = || {
                let (mut disk, mut unsafe_ones) = (base.clone(), 0..);
                for Pending { unit, is_safe, .. } in &pending {
                    if *is_safe || unsafe_ones.next().is_some_and(|number| order.has(number)) {
                        disk.apply(unit);
                    }
                }
                disk
            };
            visit(Cut { step, order }, &disk);
        }
        match next {
            Some(Step::Change(units)) => pending.extend(units.iter().map(|unit| Pending {
                unit: unit.clone(),
                is_safe: false,
                is_doubtful: false,
            })),
            Some(Step::Sync(node, false)) => {
                let of_it = pending.iter_mut().filter(|pending| pending.unit.target() == *node);
                of_it.filter(|pending| !pending.is_safe).for_each(|pending| {
                    pending.is_doubtful = pending.unit.is_of_file();
                });
            }
            Some(Step::Sync(node, true)) => {
                let is_of_it = |pending: &Pending| pending.unit.target() == *node;
                if pending.iter().any(|pending| is_of_it(pending) && pending.is_doubtful) {
                    let sound =
                        pending.iter_mut().filter(|pending| is_of_it(pending) && !pending.is_doubtful);
                    sound.for_each(|pending| pending.is_safe = true);
                } else {
                    pending
                        .iter()
                        .filter(|pending| is_of_it(pending))
                        .for_each(|pending| base.apply(&pending.unit));
                    pending.retain(|pending| !is_of_it(pending));
                }
            }
            Some(Step::Said(_)) | None => {}
        }
    }
}
