//! Switches between threads.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use pitot_sys::Unavailable;
use rustix::thread::futex::{self, Flags};

use super::partner::Partner;
use crate::contract::refused;
use crate::{Operation, Primitive, Topic, Work};

pub(super) static TOPIC: Topic = Topic {
    title: "Switches",
    primitives: &[
        Primitive {
            name: "pipe-switch",
            summary: "a byte through a pipe to a waiting thread on the same CPU",
            operation: Operation::Switch,
            make: |place| by_pipe(place.cpu),
        },
        Primitive {
            name: "pipe-switch-other-cpu",
            summary: "the same to a thread on another CPU",
            operation: Operation::Switch,
            make: |place| by_pipe(place.other()?),
        },
        Primitive {
            name: "futex-switch",
            summary: "wake-up of a thread on the same CPU by futex(2)",
            operation: Operation::Switch,
            make: |place| by_futex(place.cpu),
        },
        Primitive {
            name: "futex-switch-other-cpu",
            summary: "the same to a thread on another CPU",
            operation: Operation::Switch,
            make: |place| by_futex(place.other()?),
        },
    ],
};

/// This side of two pipes, and the thread on the other, which ends when they are closed: fields are dropped in order.
struct Pipes {
    to_partner: io::PipeWriter,
    from_partner: io::PipeReader,
    _partner: Partner,
}

/// A byte goes to the partner and comes back: two switches.
fn by_pipe(cpu: usize) -> Result<Work, Unavailable> {
    let pipe = || io::pipe().map_err(|e| refused("a pipe", &e));
    let ((mut there, to_partner), (from_partner, mut back)) = (pipe()?, pipe()?);
    let partner = Partner::start(cpu, move || {
        let mut byte = [0];
        there.read_exact(&mut byte)?;
        back.write_all(&byte)
    })?;
    let mut pipes = Pipes { to_partner, from_partner, _partner: partner };
    Ok(Box::new(move |count, watch| {
        let pipes = &mut pipes;
        let round_trips = count.div_ceil(2);
        watch.time(2 * round_trips, || {
            let mut byte = [0];
            for _ in 0..round_trips {
                pipes.to_partner.write_all(&byte)?;
                pipes.from_partner.read_exact(&mut byte)?;
            }
            Ok(())
        })
    }))
}

const MINE: u32 = 0;
const PARTNERS: u32 = 1;
const OVER: u32 = 2;

/// Whose turn it is.
struct Turn(Arc<AtomicU32>);

impl Turn {
    fn give(&self, to: u32) -> io::Result<()> {
        self.0.store(to, Ordering::Release);
        futex::wake(&self.0, Flags::PRIVATE, 1)?;
        Ok(())
    }

    /// Waits for a turn; an error if there will be none.
    fn wait(&self, mine: u32, other: u32) -> io::Result<()> {
        loop {
            match self.0.load(Ordering::Acquire) {
                turn if turn == mine => return Ok(()),
                OVER => return Err(io::ErrorKind::BrokenPipe.into()),
                // EAGAIN: it has changed meanwhile; EINTR: a signal.
                _ => drop(futex::wait(&self.0, Flags::PRIVATE, other, None)),
            }
        }
    }
}

/// The side that ends the partner's life.
struct Player {
    turn: Turn,
    partner: Option<Partner>,
}

impl Drop for Player {
    fn drop(&mut self) {
        let _ = self.turn.give(OVER);
        self.partner.take();
    }
}

fn by_futex(cpu: usize) -> Result<Work, Unavailable> {
    let word = Arc::new(AtomicU32::new(MINE));
    let of_partner = Turn(Arc::clone(&word));
    let partner = Partner::start(cpu, move || {
        of_partner.wait(PARTNERS, MINE)?;
        of_partner.give(MINE)
    })?;
    let player = Player { turn: Turn(word), partner: Some(partner) };
    Ok(Box::new(move |count, watch| {
        let turn = &player.turn;
        let round_trips = count.div_ceil(2);
        watch.time(2 * round_trips, || {
            for _ in 0..round_trips {
                turn.give(PARTNERS)?;
                turn.wait(MINE, PARTNERS)?;
            }
            Ok(())
        })
    }))
}
