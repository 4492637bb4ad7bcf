use pitot_meter::Nanos;

/// What is known of a held load beside its present slice.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// What happened up to then must have been reported before the next slice can begin.
    pub(super) looked_from: Nanos,
    /// The length of all slices so far.
    pub(super) elapsed: Nanos,
    /// The end of the last slice, if there was one.
    pub(super) rested_from: Option<Nanos>,
    pub(super) times: SliceTimes,
}

/// When a slice was what, on the monotonic clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SliceTimes {
    /// Where its time begins; requests of an open loop are due from here on.
    pub began: Nanos,
    /// From when on requests were sent.
    pub first: Nanos,
    /// From when on none was due.
    pub stopped: Nanos,
    /// When the last was answered or given up.
    pub drained: Nanos,
}
