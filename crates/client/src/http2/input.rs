use crate::exchange::Fault;

/// How a server broke the protocol, and what it is told before its connection is closed.
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

/// The rest of a DATA frame that has begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct Data {
    pub(super) stream: u32,
    /// Bytes of the body.
    pub(super) left: usize,
    /// Bytes of padding behind them.
    pub(super) padding: usize,
    pub(super) end_stream: bool,
}
