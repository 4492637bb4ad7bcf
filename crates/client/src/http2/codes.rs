//! Error codes (RFC 9113 section 7) as they are counted.

/// How many codes have names; all others share the last.
pub(super) const CODES: usize = GOAWAYS.len();

static GOAWAYS: [&str; 15] = [
    "goaway-no-error",
    "goaway-protocol-error",
    "goaway-internal-error",
    "goaway-flow-control-error",
    "goaway-settings-timeout",
    "goaway-stream-closed",
    "goaway-frame-size-error",
    "goaway-refused-stream",
    "goaway-cancel",
    "goaway-compression-error",
    "goaway-connect-error",
    "goaway-enhance-your-calm",
    "goaway-inadequate-security",
    "goaway-http-1-1-required",
    "goaway-unknown-code",
];

static RESETS: [&str; CODES] = [
    "reset-no-error",
    "reset-protocol-error",
    "reset-internal-error",
    "reset-flow-control-error",
    "reset-settings-timeout",
    "reset-stream-closed",
    "reset-frame-size-error",
    "reset-refused-stream",
    "reset-cancel",
    "reset-compression-error",
    "reset-connect-error",
    "reset-enhance-your-calm",
    "reset-inadequate-security",
    "reset-http-1-1-required",
    "reset-unknown-code",
];

pub(super) const NO_ERROR: u32 = 0;
pub(super) const PROTOCOL_ERROR: u32 = 1;
pub(super) const FLOW_CONTROL_ERROR: u32 = 3;
pub(super) const FRAME_SIZE_ERROR: u32 = 6;
pub(super) const CANCEL: u32 = 8;
pub(super) const COMPRESSION_ERROR: u32 = 9;
pub(super) const ENHANCE_YOUR_CALM: u32 = 11;

/// Where a code is counted.
pub(super) fn index(code: u32) -> usize {
    (code as usize).min(CODES - 1)
}

/// The name of a GOAWAY with this code.
pub(super) fn goaway(code: u32) -> &'static str {
    GOAWAYS[index(code)]
}

/// The name of a RST_STREAM with this code.
pub(super) fn reset(code: u32) -> &'static str {
    RESETS[index(code)]
}
