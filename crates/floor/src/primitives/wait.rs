//! Waits for events.

use std::os::fd::AsFd;
use std::time::Duration;

use pitot_sys::readiness::{EpollLevel, Interest, Poll, Readiness, Select};
use pitot_sys::{EventFd, Token, Unavailable, limits};

use crate::contract::refused;
use crate::{Operation, Primitive, Topic, Work};

pub(super) static TOPIC: Topic = Topic {
    title: "Waits",
    primitives: &[
        Primitive {
            name: "epoll-wait-10",
            summary: "epoll_wait(2) over 10 descriptors, one of which is ready",
            operation: Operation::Call,
            make: |_| waits::<EpollLevel>(10, 1),
        },
        Primitive {
            name: "epoll-wait-1000",
            summary: "over 1,000",
            operation: Operation::Call,
            make: |_| waits::<EpollLevel>(1000, 1),
        },
        Primitive {
            name: "epoll-wait-10000",
            summary: "over 10,000",
            operation: Operation::Call,
            make: |_| waits::<EpollLevel>(10_000, 1),
        },
        Primitive {
            name: "epoll-wait-64-ready",
            summary: "epoll_wait(2) over 64 descriptors, all of which are ready",
            operation: Operation::Call,
            make: |_| waits::<EpollLevel>(64, 64),
        },
        Primitive {
            name: "poll-10",
            summary: "poll(2) over 10 descriptors, one of which is ready",
            operation: Operation::Call,
            make: |_| waits::<Poll>(10, 1),
        },
        Primitive {
            name: "poll-1000",
            summary: "over 1,000",
            operation: Operation::Call,
            make: |_| waits::<Poll>(1000, 1),
        },
        Primitive {
            name: "poll-10000",
            summary: "over 10,000",
            operation: Operation::Call,
            make: |_| waits::<Poll>(10_000, 1),
        },
        Primitive {
            name: "select-10",
            summary: "select(2) over 10 descriptors, one of which is ready",
            operation: Operation::Call,
            make: |_| waits::<Select>(10, 1),
        },
        Primitive {
            name: "select-1000",
            summary: "over 1,000",
            operation: Operation::Call,
            make: |_| waits::<Select>(1000, 1),
        },
        Primitive {
            name: "select-10000",
            summary: "over 10,000",
            operation: Operation::Call,
            make: |_| waits::<Select>(10_000, 1),
        },
        Primitive {
            name: "epoll-add",
            summary: "epoll_ctl(2) that adds a descriptor",
            operation: Operation::Call,
            make: |_| controls(true),
        },
        Primitive {
            name: "epoll-delete",
            summary: "epoll_ctl(2) that removes one",
            operation: Operation::Call,
            make: |_| controls(false),
        },
    ],
};

/// Descriptors that the process has for other things.
const SPARE: u64 = 64;

fn descriptors(count: u32) -> Result<Vec<EventFd>, Unavailable> {
    let limit = limits::descriptors();
    if limit < u64::from(count) + SPARE {
        return Err(Unavailable {
            what: format!("a set of {count} descriptors"),
            cause: format!("the limit on descriptors is {limit}"),
            fix: format!("ulimit -n {}", u64::from(count) + SPARE),
        });
    }
    (0..count).map(|_| EventFd::new()).collect::<std::io::Result<_>>().map_err(|e| refused("eventfd(2)", &e))
}

/// The mechanism of the servers over so many descriptors, the last of which are ready and stay so.
fn waits<R: Readiness + 'static>(count: u32, ready: u32) -> Result<Work, Unavailable> {
    let fds = descriptors(count)?;
    let mut mechanism = R::new().map_err(|e| refused("the mechanism", &e))?;
    for (fd, index) in fds.iter().zip(0..) {
        let watched = mechanism.watch(fd.as_fd(), Token::new(index, 0), Interest::Read);
        watched.map_err(|e| refused("a watch", &e))?;
        if index >= count - ready {
            fd.wake();
        }
    }
    let mut events = Vec::with_capacity(count as usize);
    Ok(Box::new(move |count, watch| {
        // The descriptors live as long as the watch for them.
        let _ = &fds;
        watch.time(count, || {
            for _ in 0..count {
                events.clear();
                mechanism.wait(Some(Duration::ZERO), &mut events)?;
                if events.len() != ready as usize {
                    return Err(std::io::ErrorKind::UnexpectedEof.into());
                }
            }
            Ok(())
        })
    }))
}

/// Watches are set on 64 descriptors and taken away again; one of the two is timed.
fn controls(adding: bool) -> Result<Work, Unavailable> {
    let fds = descriptors(64)?;
    let mut mechanism = EpollLevel::new().map_err(|e| refused("epoll(7)", &e))?;
    Ok(Box::new(move |count, watch| {
        let mut untimed = crate::Stopwatch::default();
        let batch = fds.len() as u64;
        for _ in 0..count.div_ceil(batch) {
            let add = || {
                fds.iter().zip(0..).try_for_each(|(fd, index)| {
                    mechanism.watch(fd.as_fd(), Token::new(index, 0), Interest::Read)
                })
            };
            (if adding { &mut *watch } else { &mut untimed }).time(batch, add)?;
            let delete = || fds.iter().for_each(|fd| mechanism.unwatch(fd.as_fd(), false));
            (if adding { &mut untimed } else { &mut *watch }).time(batch, delete);
        }
        Ok(())
    }))
}
