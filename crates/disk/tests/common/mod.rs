//! What the tests of engines share.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use pitot_disk::{
    BufferPool, Completion, Destination, DiskFile, DiskOp, ENGINES, Engine, EngineEntry, EngineOption,
    EngineOptions, FileOptions, NotifyBy, Queued, Transfer, Wait, content,
};

/// The depth in tests: small, so that more requests than that are easily made.
pub(crate) const DEPTH: u32 = 4;
/// The size of buffers in tests.
pub(crate) const BLOCK: usize = 64 * 1024;

/// An engine with some choice of options.
pub(crate) struct Variant {
    pub(crate) entry: &'static EngineEntry,
    pub(crate) options: EngineOptions,
    pub(crate) name: String,
}

/// Every engine of the registry that can read where samples are: with the defaults, in an event loop, and with each option
/// that it supports.
pub(crate) fn variants() -> Vec<Variant> {
    let base = EngineOptions { depth: DEPTH, threads: 2, ..EngineOptions::default() };
    let mut all = Vec::new();
    let sample = Sample::new(1).open(&FileOptions::default());
    for entry in ENGINES {
        let pool = BufferPool::new(1, BLOCK).unwrap();
        if (entry.open)(&base, &pool).is_ok_and(|engine| engine.admit(&sample).is_err()) {
            continue;
        }
        let mut add = |name: &str, options| {
            all.push(Variant { entry, options, name: format!("{} ({name})", entry.name) });
        };
        add("default", base);
        add("event loop", EngineOptions { event_loop: true, ..base });
        for option in entry.supports {
            let options = match option {
                EngineOption::Depth => EngineOptions { depth: 1, ..base },
                EngineOption::Threads => EngineOptions { threads: 1, ..base },
                EngineOption::Notify => EngineOptions { notify: NotifyBy::Pipe, ..base },
                EngineOption::DescriptorPerSlot => EngineOptions { descriptor_per_slot: true, ..base },
                EngineOption::Mincore => EngineOptions { mincore: true, ..base },
                EngineOption::FixedBuffers => EngineOptions { fixed_buffers: true, ..base },
                EngineOption::FixedFiles => EngineOptions { fixed_files: true, ..base },
                EngineOption::Direct => EngineOptions { direct: true, ..base },
            };
            add(option.name(), options);
        }
    }
    all
}

impl Variant {
    /// Opens it with a pool of twice its depth.
    pub(crate) fn open(&self) -> (Box<dyn Engine>, BufferPool) {
        self.entry.check(&self.options).unwrap();
        let pool = BufferPool::new(2 * DEPTH, BLOCK).unwrap();
        match (self.entry.open)(&self.options, &pool) {
            Ok(engine) => (engine, pool),
            Err(e) => panic!("{}: {e}; to fix it: {}", self.name, e.fix),
        }
    }

    pub(crate) fn file_options(&self) -> FileOptions {
        let descriptors = if self.options.descriptor_per_slot { DEPTH } else { 1 };
        FileOptions { direct: self.options.direct, descriptors, ..FileOptions::default() }
    }

    pub(crate) fn reads(&self) -> bool {
        self.entry.delivers_to(Destination::Buffer)
    }

    /// A splice or sendfile around the page cache would need aligned ranges, and nobody wants that.
    pub(crate) fn sends(&self) -> bool {
        self.entry.delivers_to(Destination::Socket) && !self.options.direct
    }
}

/// A file of known contents that is removed at the end.
pub(crate) struct Sample {
    dir: tempfile::TempDir,
}

pub(crate) const KEY: u64 = 77;

impl Sample {
    pub(crate) fn new(len: u64) -> Sample {
        // Not in /tmp, which may be a file system in memory and then knows no O_DIRECT.
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let mut bytes = vec![0; len as usize];
        content::fill(KEY, 0, &mut bytes);
        let mut file = File::create_new(dir.path().join("sample")).unwrap();
        file.write_all(&bytes).unwrap();
        Sample { dir }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("sample")
    }

    pub(crate) fn open(&self, options: &FileOptions) -> Arc<DiskFile> {
        Arc::new(DiskFile::open(&self.path(), options).unwrap())
    }

    pub(crate) fn truncate(&self, len: u64) {
        fs::OpenOptions::new().write(true).open(self.path()).unwrap().set_len(len).unwrap();
    }
}

/// A read of `len` bytes at `offset`; the offset is the token.
pub(crate) fn read(file: &Arc<DiskFile>, pool: &BufferPool, offset: u64, len: usize) -> DiskOp {
    let buffer = pool.take().expect("a buffer is free");
    DiskOp { token: offset, file: Arc::clone(file).into(), offset, transfer: Transfer::Read { buffer, len } }
}

/// A write of `len` bytes of known contents at `offset`.
pub(crate) fn write(file: &Arc<DiskFile>, pool: &BufferPool, offset: u64, len: usize) -> DiskOp {
    let mut buffer = pool.take().expect("a buffer is free");
    content::fill(KEY, offset, &mut buffer[..len]);
    DiskOp { token: offset, file: Arc::clone(file).into(), offset, transfer: Transfer::Write { buffer, len } }
}

pub(crate) fn send(file: &Arc<DiskFile>, socket: &Arc<OwnedFd>, offset: u64, len: usize) -> DiskOp {
    let transfer = Transfer::Send { socket: Arc::clone(socket), len };
    DiskOp { token: offset, file: Arc::clone(file).into(), offset, transfer }
}

/// Puts requests through an engine, however many it takes at a time, and returns them in the order of completion.
pub(crate) fn put_through(
    engine: &mut dyn Engine,
    requests: impl IntoIterator<Item = DiskOp>,
) -> Vec<Completion> {
    let mut done = Vec::new();
    for request in requests {
        let mut request = Some(request);
        while let Some(operation) = request.take() {
            match engine.queue(operation) {
                Queued::Done(completion) => done.push(completion),
                Queued::InFlight => {}
                Queued::Full(operation) => {
                    assert!(engine.in_flight() > 0, "full of nothing");
                    engine.commit().unwrap();
                    engine.reap(Wait::ForOne, &mut done).unwrap();
                    request = Some(operation);
                }
            }
        }
    }
    engine.commit().unwrap();
    while engine.in_flight() > 0 {
        let before = done.len();
        engine.reap(Wait::ForOne, &mut done).unwrap();
        assert!(done.len() > before, "a reap that waits for one brings one");
    }
    done
}

pub(crate) fn put_one(engine: &mut dyn Engine, request: DiskOp) -> Completion {
    put_through(engine, [request]).pop().unwrap()
}

/// A connected socket that does not block, and a thread that collects what comes out of the other end.
pub(crate) fn collector() -> (Arc<OwnedFd>, JoinHandle<Vec<u8>>) {
    let (near, mut far) = UnixStream::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    let thread = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        far.read_to_end(&mut bytes).unwrap();
        bytes
    });
    (Arc::new(near.into()), thread)
}

/// Ends a connection. By shutdown(2), since io_uring may keep the socket open until its ring is entered again.
pub(crate) fn end(socket: &Arc<OwnedFd>) {
    rustix::net::shutdown(socket, rustix::net::Shutdown::Write).unwrap();
}
