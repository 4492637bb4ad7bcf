//! Memory.

use std::hint::black_box;

use pitot_sys::{Mapping, Unavailable};

use crate::{Operation, Primitive, Topic, Work};

const PAGE_BYTES: usize = 4096;
/// Pages touched in one mapping.
const PAGES: u64 = 512;
/// Size of a copy. With 16 MiB, source and target would fit into many last-level caches, and the figure would depend on
/// how much of it other programs use.
const COPY_BYTES: usize = 64 << 20;
const MEBIBYTE: usize = 1 << 20;

pub(super) static TOPIC: Topic = Topic {
    title: "Memory",
    primitives: &[
        Primitive {
            name: "page-fault",
            summary: "the first touch of a page of 4 KiB of private memory",
            operation: Operation::Page,
            make: |_| {
                Ok(Box::new(|count, watch| {
                    for _ in 0..count.div_ceil(PAGES) {
                        let mapping = Mapping::new(PAGES as usize * PAGE_BYTES)?;
                        let mut mapping = mapping.without_huge_pages();
                        watch.time(PAGES, || mapping.touch(PAGE_BYTES));
                    }
                    Ok(())
                }))
            },
        },
        Primitive {
            name: "mmap-munmap",
            summary: "64 KiB mapped and unmapped, without touching them",
            operation: Operation::Call,
            make: |_| {
                Ok(Box::new(|count, watch| {
                    watch.time(count, || (0..count).try_for_each(|_| Mapping::new(64 << 10).map(drop)))
                }))
            },
        },
        Primitive {
            name: "copy",
            summary: "memory copied, 64 MiB at once, more than most caches",
            operation: Operation::Mebibyte,
            make: |_| copies(),
        },
    ],
};

fn copies() -> Result<Work, Unavailable> {
    let (from, mut to) = (vec![1u8; COPY_BYTES], vec![0u8; COPY_BYTES]);
    Ok(Box::new(move |count, watch| {
        let mebibytes = (COPY_BYTES / MEBIBYTE) as u64;
        let copies = count.div_ceil(mebibytes);
        watch.time(copies * mebibytes, || {
            for _ in 0..copies {
                to.copy_from_slice(black_box(&from));
                black_box(&to);
            }
        });
        Ok(())
    }))
}
