//! The engines, as data.

use pitot_sys::Unavailable;
use pitot_sys::disk::{BufferPool, PAGE, POSIX_AIO_DEPTH_MAX};

use crate::engine::{
    linux_aio, mmap, nowait, pool, pool_sendfile, posix_aio_poll, posix_aio_signal, posix_aio_thread, pread,
    sendfile, uring,
};
use crate::{Engine, EngineOption, EngineOptions, NotifyBy};

/// Opens an engine for the calling thread. Requests may use buffers of the pool, which some engines register, and
/// others.
pub type Open = fn(&EngineOptions, &BufferPool) -> Result<Box<dyn Engine>, Unavailable>;

/// One engine of the registry.
#[derive(Debug)]
pub struct EngineEntry {
    /// The word that users type.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// A paragraph for help and docs.
    pub doc: &'static str,
    /// Where it can deliver a file's bytes, the better one first.
    pub delivers: &'static [Destination],
    /// How a server uses it for the bodies of files.
    pub route: Route,
    /// True if the server's own io_uring makes these requests itself, so that the mechanism `uring` needs no engine for
    /// them.
    pub native_to_ring: bool,
    /// Whether its caller waits for the disk.
    pub blocks: Blocks,
    /// How its user learns of completions.
    pub completes: Completes,
    /// True if the library makes threads for it that block no signals. A signal for the process may then be delivered
    /// to one of them, and must be passed on.
    pub threads_take_signals: bool,
    /// What it needs of kernel and library.
    pub needs: &'static str,
    /// Its limitations, and what to know for its results.
    pub limits: &'static str,
    /// The options that it supports.
    pub supports: &'static [EngineOption],
    /// The largest depth that it accepts.
    pub depth_max: u32,
    /// Opens the engine for the calling thread.
    pub open: Open,
}

/// Where the bytes of a file can be put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Into memory ([`Transfer::Read`](crate::Transfer::Read)).
    Buffer,
    /// To a socket ([`Transfer::Send`](crate::Transfer::Send)).
    Socket,
}

impl Destination {
    /// The word in lists.
    pub const fn name(self) -> &'static str {
        match self {
            Destination::Buffer => "buffer",
            Destination::Socket => "socket",
        }
    }
}

/// How a server sends the body of a file with an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// The worker sends it from the page cache, or its ring reads it: no engine is involved.
    InPlace,
    /// The engine reads it in blocks, which the worker sends.
    Read,
    /// The engine sends it to the socket.
    Send,
}

/// When the caller of `queue` or `commit` waits for the disk to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocks {
    /// Whenever a page is not in memory.
    OnCold,
    /// Whenever a page is not in memory, unless files are read around the page cache.
    UnlessDirect,
    /// Whenever a page is not in memory, unless mincore(2) is checked first.
    UnlessMincore,
    /// Never: helper threads or the kernel wait instead.
    Never,
}

impl Blocks {
    /// The words in lists.
    pub const fn words(self) -> &'static str {
        match self {
            Blocks::OnCold => "yes",
            Blocks::UnlessDirect => "yes, unless --direct",
            Blocks::UnlessMincore => "yes, unless --mincore",
            Blocks::Never => "no",
        }
    }
}

/// How the user of an engine learns that a request is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completes {
    /// `queue` returns it complete: there is never anything to wait for.
    InQueue,
    /// The same, unless mincore(2) is asked first and a helper thread reads what is not in memory. Those notify through
    /// a descriptor of the user's choice.
    InQueueUnlessMincore,
    /// A helper thread notifies through an eventfd or a pipe, as the user chooses.
    ByNotifier,
    /// Through a pipe.
    ByPipe,
    /// Through an eventfd.
    ByEventFd,
    /// The descriptor of a ring becomes readable.
    ByRing,
    /// Only by a call to `reap`: an event loop must call it on a timer.
    WhenAsked,
}

/// Options that an engine does not support.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// An option that the engine does not support.
    #[error("the engine {engine} does not support --{}", .option.name())]
    Unsupported {
        /// The engine's name.
        engine: &'static str,
        /// The option that it does not support.
        option: EngineOption,
    },
    /// A depth of zero or beyond its limit.
    #[error("the engine {engine} supports a depth of 1 to {max}, not {depth}")]
    Depth {
        /// The engine's name.
        engine: &'static str,
        /// The requested depth.
        depth: u32,
        /// The largest depth of the engine.
        max: u32,
    },
    /// Helper threads out of bounds.
    #[error("an engine supports 1 to {THREADS_MAX} threads, not {0}")]
    Threads(u32),
}

/// The most helper threads of one engine.
const THREADS_MAX: u32 = 1024;
/// The largest depth of engines without a smaller limit.
const DEPTH_MAX: u32 = 4096;

/// All engines: first those that work in the caller, then thread pools, then the asynchronous interfaces by age.
pub static ENGINES: &[EngineEntry] = &[
    EngineEntry {
        name: "pread",
        summary: "blocking pread(2) in the caller",
        doc: "The simplest engine: the caller reads, and waits if the bytes are not in memory. Nothing is cheaper for a \
              file in the page cache. Other files block the event loop until the disk answers. The \
              baseline for the others.",
        delivers: &[Destination::Buffer],
        route: Route::Read,
        native_to_ring: false,
        blocks: Blocks::OnCold,
        completes: Completes::InQueue,
        threads_take_signals: false,
        needs: "nothing",
        limits: "One request at a time: the depth is effectively 1.",
        supports: &[EngineOption::Direct],
        depth_max: DEPTH_MAX,
        open: pread::open,
    },
    EngineEntry {
        name: "mmap",
        summary: "copy from a mapping of the file; with --mincore, check mincore(2) first",
        doc: "Each file is mapped once and read by copying; a page that is not in memory is a fault that blocks the \
              caller. With --mincore it first checks whether the pages are in memory and lets a pool thread touch \
              them if not, as the Flash server did (Pai, Druschel, Zwaenepoel 1999), at the price of a system call \
              per read. A file truncated under the mapping gives a short read, not a crash: the fault is caught, and \
              the size is checked whenever the last byte copied is zero, like bytes past the end.",
        delivers: &[Destination::Buffer],
        route: Route::Read,
        native_to_ring: false,
        blocks: Blocks::UnlessMincore,
        completes: Completes::InQueueUnlessMincore,
        threads_take_signals: false,
        needs: "nothing; for --mincore, since Linux 5.2, files that the user owns or can write",
        limits: "Writes and syncs are pwrite(2) and fsync(2), in the caller or, with --mincore, in the pool. It \
                 installs a handler for SIGBUS. A page may still be evicted between mincore's answer and the copy.",
        supports: &[EngineOption::Depth, EngineOption::Threads, EngineOption::Notify, EngineOption::Mincore],
        depth_max: DEPTH_MAX,
        open: mmap::open,
    },
    EngineEntry {
        name: "sendfile",
        summary: "sendfile(2) from the file to the socket, in the caller",
        doc: "The kernel moves the page cache's own pages to the socket: no buffer, no copy to user space. The caller \
              waits for the disk where pages are missing, even on a nonblocking socket, like nginx \
              with sendfile on and aio off.",
        delivers: &[Destination::Socket],
        route: Route::InPlace,
        native_to_ring: false,
        blocks: Blocks::OnCold,
        completes: Completes::InQueue,
        threads_take_signals: false,
        needs: "nothing",
        limits: "Delivers to sockets only. Writes and syncs are pwrite(2) and fsync(2) in the caller.",
        supports: &[],
        depth_max: DEPTH_MAX,
        open: sendfile::open,
    },
    EngineEntry {
        name: "pool",
        summary: "a pool of threads that call pread(2); completions through an eventfd or a pipe",
        doc: "Threads take requests from a queue and execute them; a descriptor notifies the event loop of \
              completions. The fastest engine in the design note of about 2006, and that of most event-driven \
              servers today. It pays off when reads wait for the disk; otherwise each request costs two \
              hand-overs between threads.",
        delivers: &[Destination::Buffer],
        route: Route::Read,
        native_to_ring: false,
        blocks: Blocks::Never,
        completes: Completes::ByNotifier,
        threads_take_signals: false,
        needs: "nothing",
        limits: "The disk sees at most as many requests at once as there are threads.",
        supports: &[EngineOption::Depth, EngineOption::Threads, EngineOption::Notify, EngineOption::Direct],
        depth_max: DEPTH_MAX,
        open: pool::open,
    },
    EngineEntry {
        name: "pool-sendfile",
        summary: "a pool of threads that call sendfile(2) straight to the client's socket",
        doc: "The unified data server of the design note: a helper thread sends the file to the socket itself, without \
              a buffer and without the loop, and a page that is not in memory blocks that thread only. When the socket \
              is full the request completes with a short count, and the loop queues the rest once it is writable.",
        delivers: &[Destination::Socket],
        route: Route::Send,
        native_to_ring: false,
        blocks: Blocks::Never,
        completes: Completes::ByNotifier,
        threads_take_signals: false,
        needs: "nothing",
        limits: "Delivers to sockets only. Writes and syncs are pwrite(2) and fsync(2) in the pool.",
        supports: &[EngineOption::Depth, EngineOption::Threads, EngineOption::Notify],
        depth_max: DEPTH_MAX,
        open: pool_sendfile::open,
    },
    EngineEntry {
        name: "nowait",
        summary: "preadv2(2) with RWF_NOWAIT in the caller; a thread pool for pages that are not in memory",
        doc: "Tries the page cache first: a read from memory costs as little as pread, any other fails \
              at once and goes to a pool. It suits files that are mostly in memory. Misses are counted.",
        delivers: &[Destination::Buffer],
        route: Route::Read,
        native_to_ring: false,
        blocks: Blocks::Never,
        completes: Completes::ByNotifier,
        threads_take_signals: false,
        needs: "Linux 4.14 and a file system with FMODE_NOWAIT reads (ext4, xfs, btrfs; not all others)",
        limits: "--direct is refused, since O_DIRECT bypasses the page cache.",
        supports: &[EngineOption::Depth, EngineOption::Threads, EngineOption::Notify],
        depth_max: DEPTH_MAX,
        open: nowait::open,
    },
    EngineEntry {
        name: "posix-aio-signal",
        summary: "aio_read(3), completions reported by a realtime signal",
        doc: "POSIX AIO as first tried in the design note. In glibc it is a pool of threads in the library. Each \
              completion is a realtime signal, which interrupts the process: system calls return EINTR \
              or restart. The handler writes to a pipe that an event loop can wait on.",
        delivers: &[Destination::Buffer],
        route: Route::Read,
        native_to_ring: false,
        blocks: Blocks::Never,
        completes: Completes::ByPipe,
        threads_take_signals: false,
        needs: "glibc; the realtime signal SIGRTMAX-1",
        limits: "glibc serves one request at a time per descriptor: see --descriptor-per-slot. All instances of a process \
                 share the helper threads. At most 64 instances per process.",
        supports: &[
            EngineOption::Depth,
            EngineOption::Threads,
            EngineOption::DescriptorPerSlot,
            EngineOption::Direct,
        ],
        depth_max: POSIX_AIO_DEPTH_MAX,
        open: posix_aio_signal::open,
    },
    EngineEntry {
        name: "posix-aio-thread",
        summary: "aio_read(3), completions reported by a new thread for each (SIGEV_THREAD)",
        doc: "POSIX AIO with the standard's other notification: glibc creates a thread for each completion, which \
              writes to a pipe that an event loop can wait on, and ends.",
        delivers: &[Destination::Buffer],
        route: Route::Read,
        native_to_ring: false,
        blocks: Blocks::Never,
        completes: Completes::ByPipe,
        threads_take_signals: true,
        needs: "glibc",
        limits: "A thread is created per completion. glibc serves one request at a time per descriptor: see \
                 --descriptor-per-slot. At most 64 instances per process.",
        supports: &[
            EngineOption::Depth,
            EngineOption::Threads,
            EngineOption::DescriptorPerSlot,
            EngineOption::Direct,
        ],
        depth_max: POSIX_AIO_DEPTH_MAX,
        open: posix_aio_thread::open,
    },
    EngineEntry {
        name: "posix-aio-poll",
        summary: "aio_read(3), completions polled with aio_error(3) and aio_suspend(3)",
        doc: "POSIX AIO without notification. The cheapest of the three for a caller that only waits for it \
              (aio_suspend(3)), but an event loop must poll on a timer, as in the design \
              note.",
        delivers: &[Destination::Buffer],
        route: Route::Read,
        native_to_ring: false,
        blocks: Blocks::Never,
        completes: Completes::WhenAsked,
        threads_take_signals: false,
        needs: "glibc",
        limits: "No descriptor for an event loop. glibc serves one request at a time per descriptor: see \
                 --descriptor-per-slot.",
        supports: &[
            EngineOption::Depth,
            EngineOption::Threads,
            EngineOption::DescriptorPerSlot,
            EngineOption::Direct,
        ],
        depth_max: POSIX_AIO_DEPTH_MAX,
        open: posix_aio_poll::open,
    },
    EngineEntry {
        name: "linux-aio",
        summary: "io_submit(2) and io_getevents(2); asynchronous with O_DIRECT only",
        doc: "The kernel's asynchronous interface of Linux 2.6. With --direct, requests go to the device and io_submit \
              returns; without it io_submit reads through the page cache itself, so that the interface is asynchronous \
              in name only. An eventfd notifies an event loop of completions.",
        delivers: &[Destination::Buffer],
        route: Route::Read,
        native_to_ring: false,
        blocks: Blocks::UnlessDirect,
        completes: Completes::ByEventFd,
        threads_take_signals: false,
        needs: "CONFIG_AIO; room under fs.aio-max-nr",
        limits: "Without --direct it blocks like pread. With it offsets, lengths and memory must be aligned.",
        supports: &[EngineOption::Depth, EngineOption::Direct],
        depth_max: DEPTH_MAX,
        open: linux_aio::open,
    },
    EngineEntry {
        name: "uring",
        summary: "io_uring(7), with registered buffers and files as options; splice to sockets",
        doc: "Requests go to the kernel in batches through shared memory. Reads from the page cache \
              complete at once, others later. --fixed-buffers and --fixed-files register memory and files, which saves \
              pinning and look-ups per request. A send is two splices through a pipe, which the kernel executes on its \
              own worker threads, so reading into memory is better for small files.",
        delivers: &[Destination::Buffer, Destination::Socket],
        route: Route::Read,
        native_to_ring: true,
        blocks: Blocks::Never,
        completes: Completes::ByRing,
        threads_take_signals: false,
        needs: "Linux 5.6, better 6.1; not disabled by kernel.io_uring_disabled or by a container's seccomp filter",
        limits: "Registered buffers count against the limit on locked memory (ulimit -l). Registered files stay open \
                 until others replace them.",
        supports: &[
            EngineOption::Depth,
            EngineOption::FixedBuffers,
            EngineOption::FixedFiles,
            EngineOption::Direct,
        ],
        depth_max: DEPTH_MAX,
        open: uring::open,
    },
];

/// The engine of that name.
pub fn find(name: &str) -> Option<&'static EngineEntry> {
    ENGINES.iter().find(|e| e.name == name)
}

impl EngineEntry {
    /// Whether a caller with these options waits for the disk when a page is not in memory, and so blocks its event
    /// loop.
    pub fn blocks_on_cold(&self, options: &EngineOptions) -> bool {
        match self.blocks {
            Blocks::OnCold => true,
            Blocks::UnlessDirect => !options.direct,
            Blocks::UnlessMincore => !options.mincore,
            Blocks::Never => false,
        }
    }

    /// True if every request is complete when `queue` returns.
    pub fn completes_in_queue(&self, options: &EngineOptions) -> bool {
        match self.completes {
            Completes::InQueue => true,
            Completes::InQueueUnlessMincore => !options.mincore,
            Completes::ByNotifier
            | Completes::ByPipe
            | Completes::ByEventFd
            | Completes::ByRing
            | Completes::WhenAsked => false,
        }
    }

    /// True if it gives an event loop a descriptor to wait on, or completes everything in `queue`. Without one a loop
    /// has to reap on a timer.
    pub fn joins_event_loop(&self) -> bool {
        self.completes != Completes::WhenAsked
    }

    /// True if signal-driven I/O (fcntl(2), O_ASYNC) reports its completions: it does so for pipes, but not for eventfds
    /// and rings.
    pub fn raises_sigio(&self, options: &EngineOptions) -> bool {
        match self.completes {
            Completes::InQueue | Completes::ByPipe | Completes::WhenAsked => true,
            Completes::InQueueUnlessMincore => !options.mincore || options.notify == NotifyBy::Pipe,
            Completes::ByNotifier => options.notify == NotifyBy::Pipe,
            Completes::ByEventFd | Completes::ByRing => false,
        }
    }

    /// True if it can deliver there.
    pub fn delivers_to(&self, target: Destination) -> bool {
        self.delivers.contains(&target)
    }

    /// Whether it is available to this user on this kernel, by opening a small one.
    ///
    /// # Errors
    /// [`Unavailable`] with cause and fix.
    pub fn probe(&self) -> Result<(), Unavailable> {
        let pool = BufferPool::new(1, PAGE).map_err(|e| Unavailable {
            what: "memory".into(),
            cause: format!("kernel error: {e}"),
            fix: "free some memory".into(),
        })?;
        (self.open)(&EngineOptions { depth: 1, threads: 1, ..EngineOptions::default() }, &pool).map(drop)
    }

    /// Checks options before anything is opened.
    ///
    /// # Errors
    /// The first option that the engine does not support.
    pub fn check(&self, options: &EngineOptions) -> Result<(), OptionsError> {
        let engine = self.name;
        if let Some(option) = options.changed().find(|option| !self.supports.contains(option)) {
            return Err(OptionsError::Unsupported { engine, option });
        }
        if options.depth == 0 || options.depth > self.depth_max {
            return Err(OptionsError::Depth { engine, depth: options.depth, max: self.depth_max });
        }
        if options.threads == 0 || options.threads > THREADS_MAX {
            return Err(OptionsError::Threads(options.threads));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_named_once_and_documented() {
        for (i, e) in ENGINES.iter().enumerate() {
            assert!(ENGINES[..i].iter().all(|other| other.name != e.name), "{} stands twice", e.name);
            assert!(!e.summary.is_empty() && e.doc.len() > e.summary.len(), "{} lacks its docs", e.name);
            assert!(
                !e.needs.is_empty() && !e.limits.is_empty(),
                "{} does not state needs and limits",
                e.name
            );
            assert!(!e.delivers.is_empty() && e.depth_max > 0, "{} delivers nothing", e.name);
            assert!(e.check(&EngineOptions::default()).is_ok(), "{} refuses the defaults", e.name);
        }
    }

    #[test]
    fn an_option_that_an_engine_does_not_support_is_refused() {
        let options = EngineOptions { mincore: true, ..EngineOptions::default() };
        let refused = find("pread").unwrap().check(&options);
        assert_eq!(
            refused,
            Err(OptionsError::Unsupported { engine: "pread", option: EngineOption::Mincore })
        );
        assert!(find("mmap").unwrap().check(&options).is_ok());
    }

    #[test]
    fn blocking_depends_on_the_options_where_the_entry_says_so() {
        let direct = EngineOptions { direct: true, ..EngineOptions::default() };
        let linux_aio = find("linux-aio").unwrap();
        assert!(linux_aio.blocks_on_cold(&EngineOptions::default()) && !linux_aio.blocks_on_cold(&direct));
        assert!(!find("pool").unwrap().blocks_on_cold(&direct));
    }
}
