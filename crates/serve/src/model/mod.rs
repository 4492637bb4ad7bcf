//! The concurrency models, as data: who owns a connection.
//!
//! A model is one file with one entry in [`MODELS`]. It starts the workers, gives each its source of connections, and
//! supervises them until they are stopped.

mod contract;
mod fork;
mod handoff;
mod hybrid;
mod r#loop;
mod loops;
mod pool;
mod prefork;
mod preloop;
mod processes;
mod relay;
mod spawn;
mod thread;
mod threads;
mod tokio;
mod tokio_sockets;

pub use contract::{Listeners, Listens, Model, Workers};

/// All models, from a process per connection to the event loop and beyond.
pub static MODELS: &[&Model] = &[
    &fork::FORK,
    &spawn::SPAWN,
    &prefork::PREFORK,
    &thread::THREAD,
    &pool::POOL,
    &r#loop::LOOP,
    &loops::LOOPS,
    &handoff::HANDOFF,
    &preloop::PRELOOP,
    &hybrid::HYBRID,
    &relay::RELAY,
    &tokio::TOKIO,
];

/// The model of that name.
pub fn find(name: &str) -> Option<&'static Model> {
    MODELS.iter().copied().find(|m| m.name == name)
}
