use std::sync::Arc;

/// The times of a log.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Of each line, from the first one on, in order; one for each line, which all threads share.
    pub seconds: Arc<[u32]>,
    /// How many seconds of the log go by in a second.
    pub speed: f64,
}
