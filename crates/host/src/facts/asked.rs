/// What one cell of a plan asks of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// Connections that are open at once.
    pub connections: u64,
    /// Processes among which the server's connections are spread, each with a listener of its own; `None` of a program
    /// whose processes are not known.
    pub server_processes: Option<u64>,
    /// Addresses that the connections come from.
    pub sources: u64,
    /// Rings of io_uring: one for each process of a side that uses them.
    pub server_uses_uring: bool,
    /// The same of the load.
    pub load_uses_uring: bool,
}
