//! Messages between a lab and its agents: what is read can be written and is read again; what is none is refused in a short
//! sentence that a terminal shows.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pitot_agent::frame::{self, FrameError};
use pitot_agent::{Reply, Request};
use pitot_results::printable;

fuzz_target!(|data: &[u8]| {
    read_all::<Request>(data);
    read_all::<Reply>(data);
});

/// Reads messages to the end or to the first that is none, which ends the stream.
fn read_all<T: serde::Serialize + serde::de::DeserializeOwned>(mut data: &[u8]) {
    loop {
        match frame::read::<T>(&mut data) {
            Ok(Some(message)) => {
                let mut written = Vec::new();
                frame::write(&mut written, &message).expect("memory can be written");
                assert_eq!(written.iter().filter(|byte| **byte == b'\n').count(), 1);
                // Figures may differ in their last digit.
                assert!(matches!(frame::read::<T>(&mut &written[..]), Ok(Some(_))));
            }
            Err(e @ FrameError::Malformed { .. }) => {
                let said = e.to_string();
                assert_eq!(printable(&said), said);
                assert!(said.len() < 3000, "{} bytes", said.len());
                return;
            }
            Ok(None) | Err(FrameError::CutShort) => return,
            Err(e @ (FrameError::Stream(_) | FrameError::TooLong)) => panic!("{e}"),
        }
    }
}
