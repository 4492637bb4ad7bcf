//! The client's side of RESP2, the protocol of Redis and its kin.
//! (Redis serialization protocol specification, version 2.)

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
    Ok(Box::new(Redis { workload: Workload::new("redis", options)? }))
}

struct Redis {
    workload: Arc<Workload>,
}

impl ClientProtocol for Redis {
    fn connect(&self) -> Box<dyn ClientConn> {
        Box::new(Conn::new(Arc::clone(&self.workload)))
    }

    fn prepare(&self) -> Option<Box<dyn Preparation>> {
        self.workload.fill.then(|| Box::new(Fill::new(Arc::clone(&self.workload))) as Box<dyn Preparation>)
    }
}

/// Writes a `SET`: an array of bulk strings.
fn write_set(workload: &Workload, number: u64, mut out: impl FnMut(&[u8])) {
    let value = workload.keys.value(number);
    let expires = workload.expire_s > 0;
    out(if expires { b"*5\r\n$3\r\nSET\r\n" } else { b"*3\r\n$3\r\nSET\r\n" });
    write_bulk(workload.keys.key(number).as_slice(), &mut out);
    out(b"$");
    out(Digits::of(value.len).as_slice());
    out(b"\r\n");
    value.pieces(0, value.len as usize).for_each(&mut out);
    out(b"\r\n");
    if expires {
        out(b"$2\r\nEX\r\n");
        write_bulk(Digits::of(workload.expire_s).as_slice(), &mut out);
    }
}

fn write_request(workload: &Workload, tag: Tag, out: &mut Outgoing) {
    if is_set(tag) {
        return write_set(workload, workload.key_of(tag, 0), |bytes| out.bytes(bytes));
    }
    if workload.multiget == 1 {
        out.bytes(b"*2\r\n$3\r\nGET\r\n");
    } else {
        out.bytes(b"*");
        out.bytes(Digits::of(workload.multiget + 1).as_slice());
        out.bytes(b"\r\n$4\r\nMGET\r\n");
    }
    for place in 0..workload.multiget {
        write_bulk(workload.keys.key(workload.key_of(tag, place)).as_slice(), &mut |bytes: &[u8]| {
            out.bytes(bytes);
        });
    }
}

fn write_bulk(bytes: &[u8], out: &mut impl FnMut(&[u8])) {
    out(b"$");
    out(Digits::of(bytes.len() as u64).as_slice());
    out(b"\r\n");
    out(bytes);
    out(b"\r\n");
}
