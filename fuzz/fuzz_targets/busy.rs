//! `busy`, the server: one line for everybody.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pitot_proto::busy::{Busy, REPLY};
use pitot_proto_harness as harness;
use pitot_proto_harness::{End, Files};

fuzz_target!(|input: &[u8]| {
    let outcome = harness::exchange(&Busy, &Files::new(), input.chunks(7));
    assert_eq!((outcome.sent.as_slice(), outcome.replies, outcome.end), (REPLY, 1, Some(End::Closed)));
});
