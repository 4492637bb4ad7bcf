//! The error lines that several commands share, with memcached 1.6's text.

pub(super) const ERROR: &[u8] = b"ERROR\r\n";
pub(super) const BAD_LINE: &[u8] = b"CLIENT_ERROR bad command line format\r\n";
pub(super) const BAD_EXPTIME: &[u8] = b"CLIENT_ERROR invalid exptime argument\r\n";
pub(super) const NON_NUMERIC: &[u8] = b"CLIENT_ERROR cannot increment or decrement non-numeric value\r\n";
