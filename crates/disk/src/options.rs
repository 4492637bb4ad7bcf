//! What a user may set for an engine.

/// How helper threads tell an event loop of completions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Told {
    /// Through an eventfd(2).
    #[default]
    EventFd,
    /// Through a pipe, as in the design note of about 2006.
    Pipe,
}

impl Told {
    /// All of them, by the word that users type.
    pub const NAMES: &'static [(&'static str, Told)] = &[("eventfd", Told::EventFd), ("pipe", Told::Pipe)];

    /// The word that users type.
    pub fn name(self) -> &'static str {
        match self {
            Told::EventFd => "eventfd",
            Told::Pipe => "pipe",
        }
    }
}

/// Options of engines. Each engine heeds those that its entry lists, and refuses others that were changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineOptions {
    /// Requests that may be in flight.
    pub depth: u32,
    /// Helper threads at most. Pools start them as requests wait for one.
    pub threads: u32,
    /// How helper threads tell of completions.
    pub told: Told,
    /// A descriptor of the file for each slot of the queue; see [`FileOptions`](crate::FileOptions). The engine's user
    /// opens files accordingly.
    pub descriptor_per_slot: bool,
    /// Ask mincore(2) before a mapping is touched, and let a helper thread touch what is not in memory.
    pub mincore: bool,
    /// Register the pool of buffers with the kernel.
    pub fixed_buffers: bool,
    /// Register files with the kernel.
    pub fixed_files: bool,
    /// Files are read around the page cache (O_DIRECT).
    pub direct: bool,
    /// An event loop will wait on the engine's completion descriptor; without it an engine may save itself the bell.
    pub event_loop: bool,
}

impl Default for EngineOptions {
    fn default() -> EngineOptions {
        EngineOptions {
            depth: 64,
            threads: 4,
            told: Told::EventFd,
            descriptor_per_slot: false,
            mincore: false,
            fixed_buffers: false,
            fixed_files: false,
            direct: false,
            event_loop: false,
        }
    }
}

/// An option by name, as entries list what they heed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knob {
    /// [`EngineOptions::depth`].
    Depth,
    /// [`EngineOptions::threads`].
    Threads,
    /// [`EngineOptions::told`].
    Told,
    /// [`EngineOptions::descriptor_per_slot`].
    DescriptorPerSlot,
    /// [`EngineOptions::mincore`].
    Mincore,
    /// [`EngineOptions::fixed_buffers`].
    FixedBuffers,
    /// [`EngineOptions::fixed_files`].
    FixedFiles,
    /// [`EngineOptions::direct`].
    Direct,
}

impl Knob {
    /// All of them.
    pub const ALL: &'static [Knob] = &[
        Knob::Depth,
        Knob::Threads,
        Knob::Told,
        Knob::DescriptorPerSlot,
        Knob::Mincore,
        Knob::FixedBuffers,
        Knob::FixedFiles,
        Knob::Direct,
    ];

    /// The word that users type, after `--` on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Knob::Depth => "depth",
            Knob::Threads => "threads",
            Knob::Told => "told",
            Knob::DescriptorPerSlot => "descriptor-per-slot",
            Knob::Mincore => "mincore",
            Knob::FixedBuffers => "fixed-buffers",
            Knob::FixedFiles => "fixed-files",
            Knob::Direct => "direct",
        }
    }

    /// True if `options` set it to something else than the default. Depth and threads are bounds that every caller
    /// sets and an engine without a queue or threads keeps to anyway, so they never count.
    pub fn is_changed(self, options: &EngineOptions) -> bool {
        let default = EngineOptions::default();
        match self {
            Knob::Depth | Knob::Threads => false,
            Knob::Told => options.told != default.told,
            Knob::DescriptorPerSlot => options.descriptor_per_slot,
            Knob::Mincore => options.mincore,
            Knob::FixedBuffers => options.fixed_buffers,
            Knob::FixedFiles => options.fixed_files,
            Knob::Direct => options.direct,
        }
    }
}
