use pitot_proto::Upload;

/// The outcome of a step of storing.
#[derive(Debug)]
pub enum Stored {
    /// More steps follow.
    Begun(Upload),
    /// It is complete. The path is that of the changed file; mail has none.
    Done(Box<[u8]>),
}
