//! A load that is held: its connections stay open, and requests are sent on them in slices, when they are asked for.
//!
//! A [`Session`] holds any number of groups, each with the target and the options of a load of its own. Groups run one
//! after the other, never two at once. So servers that are to be compared can be kept up side by side and loaded in turn
//! for some tens of milliseconds each, and the noise of a shared machine, which comes in bursts that last longer, falls
//! on all of them alike.
//!
//! # Threads
//! All groups run in one process and on the same threads, so that no luck in the layout of a process, in its threads or
//! their CPUs belongs to one server. The thread that reads the commands is the first of them, and carries out the slices
//! of a load with one thread (the default) itself: between the command and the first request no other thread has to wake
//! up. Further threads (`-t`) are started when the first group needs them and shared by those that follow; they sleep
//! between slices. A group with `--cpus` has each thread pinned when it is its turn.
//!
//! # Memory
//! What a slice needs is there once the group is open. The records of a slice are cleared after its answer is out
//! ([`Session::clear`]), and encoded after the drain, so that neither delays a request.

mod check;
mod helpers;
mod lane;
mod seat;
mod session;
mod sum;

pub use session::Session;
