//! A thread on the other side of a primitive.

use std::io;
use std::thread::JoinHandle;

use pitot_sys::{Unavailable, affinity};

use crate::contract::refused;

/// A thread bound to a CPU, which ends by itself when its end of something is closed; dropping waits for that.
#[derive(Debug)]
pub(super) struct Partner(Option<JoinHandle<()>>);

impl Partner {
    pub(super) fn start(
        cpu: usize,
        mut life: impl FnMut() -> io::Result<()> + Send + 'static,
    ) -> Result<Partner, Unavailable> {
        let thread = std::thread::Builder::new().spawn(move || {
            let _ = affinity::pin(&[cpu]);
            while life().is_ok() {}
        });
        thread.map(|thread| Partner(Some(thread))).map_err(|e| refused("a thread", &e))
    }
}

impl Drop for Partner {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            let _ = thread.join();
        }
    }
}
