//! Error codes (RFC 9113 section 7) as they are counted.

/// Codes with names; all others share the last.
pub(super) const CODES: usize = NAMES.len();

/// The names of GOAWAY and RST_STREAM with each code.
static NAMES: [(&str, &str); 15] = [
    ("goaway-no-error", "reset-no-error"),
    ("goaway-protocol-error", "reset-protocol-error"),
    ("goaway-internal-error", "reset-internal-error"),
    ("goaway-flow-control-error", "reset-flow-control-error"),
    ("goaway-settings-timeout", "reset-settings-timeout"),
    ("goaway-stream-closed", "reset-stream-closed"),
    ("goaway-frame-size-error", "reset-frame-size-error"),
    ("goaway-refused-stream", "reset-refused-stream"),
    ("goaway-cancel", "reset-cancel"),
    ("goaway-compression-error", "reset-compression-error"),
    ("goaway-connect-error", "reset-connect-error"),
    ("goaway-enhance-your-calm", "reset-enhance-your-calm"),
    ("goaway-inadequate-security", "reset-inadequate-security"),
    ("goaway-http-1-1-required", "reset-http-1-1-required"),
    ("goaway-unknown-code", "reset-unknown-code"),
];

pub(super) const NO_ERROR: u32 = 0;
pub(super) const PROTOCOL_ERROR: u32 = 1;
pub(super) const FLOW_CONTROL_ERROR: u32 = 3;
pub(super) const FRAME_SIZE_ERROR: u32 = 6;
pub(super) const CANCEL: u32 = 8;
pub(super) const COMPRESSION_ERROR: u32 = 9;
pub(super) const ENHANCE_YOUR_CALM: u32 = 11;

pub(super) fn index(code: u32) -> usize {
    (code as usize).min(CODES - 1)
}

pub(super) fn goaway(code: u32) -> &'static str {
    NAMES[index(code)].0
}

pub(super) fn reset(code: u32) -> &'static str {
    NAMES[index(code)].1
}
