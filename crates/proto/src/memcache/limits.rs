/// The longest key.
pub const KEY_BYTES_MAX: usize = 250;
/// The longest command line, with its line end. Only `get` and its kin may be longer.
pub const LINE_BYTES_MAX: usize = 2048;
