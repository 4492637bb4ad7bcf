use crate::cache::{Workload, is_set};
use crate::exchange::Tag;
use crate::outgoing::Outgoing;
use pitot_proto::memcache::Digits;

/// Writes a `SET`: an array of bulk strings.
pub(super) fn write_set(workload: &Workload, number: u64, mut out: impl FnMut(&[u8])) {
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

/// Writes the request of a tag.
pub(super) fn write_request(workload: &Workload, tag: Tag, out: &mut Outgoing) {
    if is_set(tag) {
        return write_set(workload, workload.key_of(tag, 0), |bytes| out.bytes(bytes));
    }
    if workload.multiget == 1 {
        out.bytes(b"*2\r\n$3\r\nGET\r\n");
    } else {
        begin_array(workload.multiget + 1, |bytes| out.bytes(bytes));
        out.bytes(b"$4\r\nMGET\r\n");
    }
    for index in 0..workload.multiget {
        write_bulk(workload.keys.key(workload.key_of(tag, index)).as_slice(), &mut |bytes: &[u8]| {
            out.bytes(bytes);
        });
    }
}

/// Writes a command: an array of bulk strings.
pub(super) fn write_array(words: &[&[u8]], mut out: impl FnMut(&[u8])) {
    begin_array(words.len() as u64, &mut out);
    words.iter().for_each(|word| write_bulk(word, &mut out));
}

/// Begins an array of `words` bulk strings.
pub(super) fn begin_array(words: u64, mut out: impl FnMut(&[u8])) {
    out(b"*");
    out(Digits::of(words).as_slice());
    out(b"\r\n");
}

pub(super) fn write_bulk(bytes: &[u8], out: &mut impl FnMut(&[u8])) {
    out(b"$");
    out(Digits::of(bytes.len() as u64).as_slice());
    out(b"\r\n");
    out(bytes);
    out(b"\r\n");
}
