//! The names of requests, and which of them a server has acknowledged.

/// What a user writes in a path, in the place of the name.
pub const RECEIPT: &str = "{receipt}";
/// What stands in its place until a request is sent. A name has the number of the process, the number of the connection and the
/// number of the request, hexadecimal.
pub const BLANK_RECEIPT: &str = "receipt-000000-000000-0000000000";

/// What a connection has been told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acknowledged {
    /// What the names of its requests begin with: `receipt-0004d2-00001f`.
    pub connection: String,
    /// The numbers that were answered right, as ranges with their last number, in ascending order.
    pub numbers: Vec<(u64, u64)>,
}

/// What a server keeps of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept<'a> {
    /// The body of an upload.
    Upload(&'a [u8]),
    /// A mail with its header, to which the server may add.
    Mail(&'a [u8]),
}
