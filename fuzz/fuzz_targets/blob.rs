//! `blob`, the server: the replies are as long as the sound requests ask for, however the input is cut.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pitot_proto::blob::{self, Blob, LINE_MAX};
use pitot_proto_harness as harness;
use pitot_proto_harness::Files;

fuzz_target!(|data: &[u8]| {
    let Some((&cut, input)) = data.split_first() else { return };
    let files = Files::new();
    let whole = harness::exchange(&Blob, &files, [input]);
    assert_eq!(harness::exchange(&Blob, &files, input.chunks(usize::from(cut) + 1)), whole);

    let (mut asked, mut requests) = (0, 0);
    for line in input.split_inclusive(|&b| b == b'\n') {
        let Some(line) = line.strip_suffix(b"\n").filter(|line| line.len() < LINE_MAX) else { break };
        let Some(size) = blob::parse(line) else { break };
        asked += size;
        requests += 1;
    }
    assert_eq!((whole.sent_len, whole.replies), (asked, requests));
});
