use crate::exchange::Fault;

/// How a server broke the protocol, and the code that it gets before its connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken {
    pub(super) code: u32,
    pub(super) fault: Fault,
}

impl Broken {
    pub(super) fn new(code: u32, fault: Fault) -> Broken {
        Broken { code, fault }
    }
}

/// The rest of a DATA frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Data {
    pub(super) stream: u32,
    pub(super) left: usize,
    /// Bytes of padding behind the body.
    pub(super) padding: usize,
    pub(super) end_stream: bool,
}
