//! Messages between a lab and its agents: what is read can be written and is read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pitot_agent::frame::{self, FrameError};
use pitot_agent::{Reply, Request};

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
            Ok(None) | Err(FrameError::CutShort | FrameError::Malformed { .. }) => return,
            Err(e @ (FrameError::Stream(_) | FrameError::TooLong)) => panic!("{e}"),
        }
    }
}
