//! What a user may set for an engine.

/// How helper threads notify an event loop of completions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NotifyBy {
    /// Through an eventfd(2).
    #[default]
    EventFd,
    /// Through a pipe, as in the design note of about 2006.
    Pipe,
}

impl NotifyBy {
    /// The word that users type.
    pub const fn name(self) -> &'static str {
        match self {
            NotifyBy::EventFd => "eventfd",
            NotifyBy::Pipe => "pipe",
        }
    }
}

/// Options of engines. Each engine supports those that its entry lists, and refuses others that were changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineOptions {
    /// Requests that may be in flight.
    pub depth: u32,
    /// The most helper threads. Pools start them when requests wait.
    pub threads: u32,
    /// How helper threads notify of completions.
    pub notify: NotifyBy,
    /// A descriptor of the file for each slot of the queue; see [`FileOptions`](crate::FileOptions). The engine's user
    /// opens files accordingly.
    pub descriptor_per_slot: bool,
    /// Check with mincore(2) before touching a mapping, and let a helper thread touch pages that are not in memory.
    pub mincore: bool,
    /// Register the pool of buffers with the kernel.
    pub fixed_buffers: bool,
    /// Register files with the kernel.
    pub fixed_files: bool,
    /// Read files around the page cache (O_DIRECT).
    pub direct: bool,
    /// An event loop will wait on the engine's completion descriptor. Without it an engine may skip notifications that
    /// cost extra.
    pub event_loop: bool,
}

impl Default for EngineOptions {
    fn default() -> EngineOptions {
        EngineOptions {
            depth: 64,
            threads: 4,
            notify: NotifyBy::EventFd,
            descriptor_per_slot: false,
            mincore: false,
            fixed_buffers: false,
            fixed_files: false,
            direct: false,
            event_loop: false,
        }
    }
}

/// An option by name, as entries list those that they support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineOption {
    /// [`EngineOptions::depth`].
    Depth,
    /// [`EngineOptions::threads`].
    Threads,
    /// [`EngineOptions::notify`].
    Notify,
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

impl EngineOption {
    /// The word that users type, after `--` on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            EngineOption::Depth => "depth",
            EngineOption::Threads => "threads",
            EngineOption::Notify => "notify",
            EngineOption::DescriptorPerSlot => "descriptor-per-slot",
            EngineOption::Mincore => "mincore",
            EngineOption::FixedBuffers => "fixed-buffers",
            EngineOption::FixedFiles => "fixed-files",
            EngineOption::Direct => "direct",
        }
    }
}

impl EngineOptions {
    /// The options that differ from their defaults and that an engine without support for them must refuse. Depth and
    /// threads are bounds which an engine without a queue or threads keeps to anyway, and `event_loop` describes the
    /// engine's user, so these three never count.
    pub(crate) fn changed(&self) -> impl Iterator<Item = EngineOption> + use<> {
        // Taken apart field by field, so that a new option cannot be forgotten here.
        let EngineOptions {
            depth: _,
            threads: _,
            notify,
            descriptor_per_slot,
            mincore,
            fixed_buffers,
            fixed_files,
            direct,
            event_loop: _,
        } = *self;
        let changed = [
            (EngineOption::Notify, notify != NotifyBy::default()),
            (EngineOption::DescriptorPerSlot, descriptor_per_slot),
            (EngineOption::Mincore, mincore),
            (EngineOption::FixedBuffers, fixed_buffers),
            (EngineOption::FixedFiles, fixed_files),
            (EngineOption::Direct, direct),
        ];
        changed.into_iter().filter_map(|(option, is_changed)| is_changed.then_some(option))
    }
}
