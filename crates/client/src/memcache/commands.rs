use crate::cache::{Workload, is_set};
use crate::exchange::Tag;
use crate::outgoing::Outgoing;
use pitot_proto::memcache::Digits;

pub(super) fn write_set(workload: &Workload, number: u64, noreply: bool, mut out: impl FnMut(&[u8])) {
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

/// Writes the request of a tag.
pub(super) fn write_request(workload: &Workload, tag: Tag, out: &mut Outgoing) {
    if is_set(tag) {
        return write_set(workload, workload.key_of(tag, 0), false, |bytes| out.bytes(bytes));
    }
    out.bytes(b"get");
    for index in 0..workload.multiget {
        out.bytes(b" ");
        out.bytes(workload.keys.key(workload.key_of(tag, index)).as_slice());
    }
    out.bytes(b"\r\n");
}
