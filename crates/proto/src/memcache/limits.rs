/// Length of the longest key, in bytes.
pub const KEY_BYTES_MAX: usize = 250;
/// Length of the longest command line with its line end. Only `get` and its variants may be longer.
pub const LINE_BYTES_MAX: usize = 2048;
