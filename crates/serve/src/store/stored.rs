use pitot_proto::Upload;

/// What a step of storing came to.
#[derive(Debug)]
pub enum Stored {
    /// More is to come.
    Begun(Upload),
    /// It is in its place. Of a file this is the path, whose content is new; mail has none.
    Done(Box<[u8]>),
}
