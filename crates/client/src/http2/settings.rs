//! SETTINGS of both sides (RFC 9113 section 6.5).

use super::codes::{FLOW_CONTROL_ERROR, PROTOCOL_ERROR};
use super::frame;
use super::input::Broken;
use crate::exchange::Fault;

const HEADER_TABLE_SIZE: u16 = 1;
const ENABLE_PUSH: u16 = 2;
const MAX_CONCURRENT_STREAMS: u16 = 3;
const INITIAL_WINDOW_SIZE: u16 = 4;
const MAX_FRAME_SIZE: u16 = 5;

/// The largest window (section 6.9.1).
pub(super) const WINDOW_MAX: u32 = (1 << 31) - 1;
/// The window of a connection before the first WINDOW_UPDATE, and of a stream before SETTINGS say otherwise.
pub(super) const WINDOW_DEFAULT: u32 = 65_535;

/// The limits of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) table_bytes: u32,
    pub(super) streams_max: Option<u32>,
    pub(super) window: u32,
    pub(super) frame_max: u32,
}

impl Settings {
    pub(super) const INITIAL: Settings =
        Settings { table_bytes: 4096, streams_max: None, window: WINDOW_DEFAULT, frame_max: 16_384 };

    /// Takes the payload of a SETTINGS frame.
    pub(super) fn take(&mut self, payload: &[u8]) -> Result<(), Broken> {
        for entry in payload.chunks_exact(6) {
            let id = u16::from_be_bytes([entry[0], entry[1]]);
            let value = u32::from_be_bytes([entry[2], entry[3], entry[4], entry[5]]);
            match id {
                HEADER_TABLE_SIZE => self.table_bytes = value,
                // Only clients may enable pushes.
                ENABLE_PUSH if value != 0 => return Err(Broken::new(PROTOCOL_ERROR, Fault::Malformed)),
                MAX_CONCURRENT_STREAMS => self.streams_max = Some(value),
                INITIAL_WINDOW_SIZE if value > WINDOW_MAX => {
                    return Err(Broken::new(FLOW_CONTROL_ERROR, Fault::Malformed));
                }
                INITIAL_WINDOW_SIZE => self.window = value,
                MAX_FRAME_SIZE if !(1 << 14..1 << 24).contains(&value) => {
                    return Err(Broken::new(PROTOCOL_ERROR, Fault::Malformed));
                }
                MAX_FRAME_SIZE => self.frame_max = value,
                _ => {}
            }
        }
        Ok(())
    }
}

/// The first bytes of a connection: the preface, SETTINGS, and a window of the connection as large as those of its streams.
pub(super) fn greeting() -> Vec<u8> {
    let settings = [(ENABLE_PUSH, 0), (INITIAL_WINDOW_SIZE, WINDOW_MAX)];
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend_from_slice(&frame::head(settings.len() * 6, frame::SETTINGS, 0, 0));
    for (id, value) in settings {
        bytes.extend_from_slice(&id.to_be_bytes());
        bytes.extend_from_slice(&value.to_be_bytes());
    }
    bytes.extend_from_slice(&frame::number(frame::WINDOW_UPDATE, 0, WINDOW_MAX - WINDOW_DEFAULT));
    bytes
}
