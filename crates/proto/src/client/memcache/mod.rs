//! The client's side of memcached's ASCII protocol, for any server that speaks it.

mod conn;
mod fill;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use conn::Conn;
use fill::Fill;

use super::cache::{Workload, is_set};
use super::{ClientConn, ClientOptions, ClientProtocol, Outgoing, Preparation, Tag, Url};
use crate::memcache::Digits;

/// Builds the workload of a URL.
///
/// # Errors
/// As [`Workload::new`].
pub(super) fn build(_: &Url, options: &ClientOptions) -> Result<Box<dyn ClientProtocol>, String> {
    Ok(Box::new(Memcache { workload: Workload::new("memcache", options)? }))
}

struct Memcache {
    workload: Arc<Workload>,
}

impl ClientProtocol for Memcache {
    fn connect(&self) -> Box<dyn ClientConn> {
        Box::new(Conn::new(Arc::clone(&self.workload)))
    }

    fn prepare(&self) -> Option<Box<dyn Preparation>> {
        self.workload.fill.then(|| Box::new(Fill::new(Arc::clone(&self.workload))) as Box<dyn Preparation>)
    }
}

/// Writes a `set`.
fn write_set(workload: &Workload, number: u64, noreply: bool, mut out: impl FnMut(&[u8])) {
    let value = workload.keys.value(number);
    let end: &[u8] = if noreply { b" noreply\r\n" } else { b"\r\n" };
    out(b"set ");
    out(workload.keys.key(number).as_slice());
    out(b" 0 ");
    out(Digits::of(workload.expire_s).as_slice());
    out(b" ");
    out(Digits::of(value.len).as_slice());
    out(end);
    value.pieces(0, value.len as usize).for_each(&mut out);
    out(b"\r\n");
}

fn write_request(workload: &Workload, tag: Tag, out: &mut Outgoing) {
    if is_set(tag) {
        return write_set(workload, workload.key_of(tag, 0), false, |bytes| out.bytes(bytes));
    }
    out.bytes(b"get");
    for place in 0..workload.multiget {
        out.bytes(b" ");
        out.bytes(workload.keys.key(workload.key_of(tag, place)).as_slice());
    }
    out.bytes(b"\r\n");
}
