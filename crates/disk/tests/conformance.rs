//! One suite over every engine of the registry, with each of its options.

mod common;

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use pitot_disk::{
    Access, BufferPool, DiskFile, DiskOp, ENGINES, EngineOptions, FileOptions, Queued, Transfer, Wait,
    content,
};
use pitot_needs::needs;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::fs::{Advice, fadvise};

use common::{BLOCK, DEPTH, KEY, Sample, collector, end, put_one, put_through, read, send, variants, write};

#[needs("nowait-reads")]
#[test]
fn every_engine_is_tried_where_the_file_system_admits_it() {
    let variants = variants();
    assert!(ENGINES.iter().all(|entry| variants.iter().any(|variant| variant.entry.name == entry.name)));
}

#[test]
fn a_read_brings_what_stands_at_its_offset() {
    let sample = Sample::new(300_000);
    for variant in variants().iter().filter(|v| v.reads()) {
        let (mut engine, pool) = variant.open();
        let file = sample.open(&variant.file_options());
        engine.admit(&file).unwrap();
        let direct = [(0, 4096), (4096, 4096), (131_072, BLOCK), (65_536, 8192)];
        let odd = [(0, 1), (1, 1), (4095, 2), (8, BLOCK), (12_345, 54_321), (234_464, BLOCK)];
        for &(offset, len) in if variant.options.direct { &direct[..] } else { &odd[..] } {
            let done = put_one(&mut *engine, read(&file, &pool, offset, len));
            let name = &variant.name;
            assert_eq!(done.operation.token, offset, "{name}");
            assert_eq!(done.result.unwrap(), len, "{name} at {offset}");
            // The contents are made of words, so an odd offset is checked from the next word on.
            let skip = offset.next_multiple_of(8) - offset;
            let bytes = &done.operation.transfer.buffer().unwrap()[(skip as usize).min(len)..len];
            assert!(content::is_right(KEY, offset + skip, bytes), "{name} at {offset}");
        }
    }
}

#[test]
fn a_read_over_the_end_is_short_and_one_behind_it_empty() {
    // The second sample ends on a page, as files like to.
    for len in [100_000, 131_072] {
        let sample = Sample::new(len);
        for variant in variants().iter().filter(|v| v.reads()) {
            let (mut engine, pool) = variant.open();
            let file = sample.open(&variant.file_options());
            for (offset, expected) in [(65_536, len as usize - 65_536), (131_072, 0), (1 << 30, 0)] {
                let done = put_one(&mut *engine, read(&file, &pool, offset, BLOCK));
                assert_eq!(done.result.unwrap(), expected, "{} at {offset} of {len}", variant.name);
                let bytes = &done.operation.transfer.buffer().unwrap()[..expected];
                assert!(content::is_right(KEY, offset, bytes), "{}", variant.name);
            }
        }
    }
}

#[test]
fn an_empty_file_reads_as_nothing() {
    let sample = Sample::new(0);
    for variant in variants().iter().filter(|v| v.reads()) {
        let (mut engine, pool) = variant.open();
        let done = put_one(&mut *engine, read(&sample.open(&variant.file_options()), &pool, 0, BLOCK));
        assert_eq!(done.result.unwrap(), 0, "{}", variant.name);
    }
}

#[test]
fn more_requests_than_the_depth_all_come_back_once() {
    let sample = Sample::new(1 << 20);
    for variant in variants().iter().filter(|v| v.reads()) {
        let (mut engine, pool) = variant.open();
        let file = sample.open(&variant.file_options());
        let mut seen = BTreeSet::new();
        for round in 0..8 {
            let requests = (0..2 * u64::from(DEPTH)).map(|i| {
                let offset = (round * 8 + i) % 16 * 65_536;
                DiskOp { token: round * 100 + i, ..read(&file, &pool, offset, BLOCK) }
            });
            // The buffers of the last round are back before the next one is made.
            for done in put_through(&mut *engine, requests) {
                assert_eq!(done.result.unwrap(), BLOCK, "{}", variant.name);
                let bytes = done.operation.transfer.buffer().unwrap();
                assert!(content::is_right(KEY, done.operation.offset, bytes), "{}", variant.name);
                assert!(seen.insert(done.operation.token), "{} completed one request twice", variant.name);
            }
        }
        assert_eq!(seen.len(), 64, "{}", variant.name);
    }
}

#[test]
fn a_cold_file_is_read_right_and_a_reap_that_does_not_wait_returns() {
    let sample = Sample::new(2 << 20);
    for variant in variants().iter().filter(|v| v.reads()) {
        let (mut engine, pool) = variant.open();
        let file = sample.open(&variant.file_options());
        file.expect_order(true).unwrap();
        for _ in 0..3 {
            pitot_disk::cache::make_cold(&file).unwrap();
            let (mut done, mut completed) = (Vec::new(), 0);
            for i in 0..32 {
                match engine.queue(read(&file, &pool, i * 65_536, BLOCK)) {
                    Queued::Done(completion) => done.push(completion),
                    Queued::InFlight => engine.commit().unwrap(),
                    Queued::Full(_) => panic!("{} is full of less than its depth", variant.name),
                }
                engine.reap(Wait::No, &mut done).unwrap();
                if engine.in_flight() as u32 == variant.options.depth {
                    engine.reap(Wait::ForOne, &mut done).unwrap();
                }
                for done in done.drain(..) {
                    assert_eq!(done.result.unwrap(), BLOCK, "{}", variant.name);
                    let bytes = done.operation.transfer.buffer().unwrap();
                    assert!(content::is_right(KEY, done.operation.offset, bytes), "{}", variant.name);
                    completed += 1;
                }
            }
            while engine.in_flight() > 0 {
                engine.reap(Wait::ForOne, &mut done).unwrap();
            }
            assert_eq!(completed + done.len(), 32, "{}", variant.name);
        }
    }
}

#[test]
fn the_depth_is_a_bound() {
    let sample = Sample::new(1 << 20);
    for variant in variants().iter().filter(|v| v.reads()) {
        let (mut engine, pool) = variant.open();
        let file = sample.open(&variant.file_options());
        let mut taken = 0;
        for i in 0..2 * DEPTH {
            match engine.queue(read(&file, &pool, u64::from(i) * 65_536, BLOCK)) {
                Queued::InFlight => taken += 1,
                // An engine that completes in `queue` never fills; one that does so for hits may not either.
                Queued::Done(done) => assert_eq!(done.result.unwrap(), BLOCK, "{}", variant.name),
                Queued::Full(operation) => {
                    assert_eq!(taken, variant.options.depth, "{} is full too early", variant.name);
                    assert_eq!(operation.offset, u64::from(i) * 65_536, "a refused request comes back whole");
                    break;
                }
            }
            assert!(taken <= variant.options.depth, "{} took more than its depth", variant.name);
            assert_eq!(engine.in_flight(), taken as usize, "{}", variant.name);
        }
    }
}

#[test]
fn an_event_loop_is_notified_of_completions() {
    let sample = Sample::new(1 << 20);
    for variant in variants().iter().filter(|v| v.reads() && v.options.event_loop) {
        let (mut engine, pool) = variant.open();
        let file = sample.open(&variant.file_options());
        for _ in 0..20 {
            let mut done = Vec::new();
            match engine.queue(read(&file, &pool, 0, BLOCK)) {
                Queued::Done(completion) => done.push(completion),
                Queued::InFlight => engine.commit().unwrap(),
                Queued::Full(_) => panic!("{} is full of nothing", variant.name),
            }
            while done.is_empty() && variant.entry.joins_event_loop() {
                let fd = engine.completion_fd().expect("an engine that does not complete at once has one");
                let timeout = Timespec { tv_sec: 5, tv_nsec: 0 };
                match poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&timeout)) {
                    Ok(0) => panic!("{} does not notify of a completion", variant.name),
                    Ok(_) => engine.reap(Wait::No, &mut done).unwrap(),
                    Err(rustix::io::Errno::INTR) => {}
                    Err(e) => panic!("{e}"),
                }
            }
            if !variant.entry.joins_event_loop() {
                assert!(engine.completion_fd().is_none(), "{}", variant.name);
                engine.reap(Wait::ForOne, &mut done).unwrap();
            }
            assert_eq!(done.len(), 1, "{}", variant.name);
            assert_eq!(engine.in_flight(), 0, "{}", variant.name);
        }
        // No notification is left.
        if let Some(fd) = engine.completion_fd() {
            let nothing =
                poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&Timespec::default()));
            assert_eq!(nothing, Ok(0), "{} notifies of nothing", variant.name);
        }
    }
}

#[test]
fn one_edge_is_enough_for_many_cold_reads() {
    const MANY: u32 = 120;
    let sample = Sample::new(u64::from(MANY) * BLOCK as u64);
    for variant in
        variants().iter().filter(|v| v.reads() && v.options.event_loop && v.entry.joins_event_loop())
    {
        let options = EngineOptions { depth: MANY, ..variant.options };
        let pool = BufferPool::new(MANY, BLOCK).unwrap();
        let mut engine = (variant.entry.open)(&options, &pool).unwrap();
        let file = sample.open(&FileOptions { descriptors: 1, ..variant.file_options() });
        let edges = engine.completion_fd().map(|fd| {
            let edges = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
            let edge = epoll::EventFlags::IN | epoll::EventFlags::ET;
            epoll::add(&edges, fd, epoll::EventData::new_u64(0), edge).unwrap();
            edges
        });
        for _ in 0..3 {
            // One after the other while they are read, so that some are gone again before they are copied.
            let cold = std::fs::File::open(sample.path()).unwrap();
            cold.sync_all().unwrap();
            fadvise(&cold, 0, None, Advice::DontNeed).unwrap();
            let mut done = Vec::new();
            for i in 0..MANY {
                let read = read(&file, &pool, u64::from(i) * BLOCK as u64, BLOCK);
                if let Queued::Done(completion) = engine.queue(read) {
                    done.push(completion);
                }
            }
            engine.commit().unwrap();
            fadvise(&cold, 0, None, Advice::DontNeed).unwrap();
            while done.len() < MANY as usize {
                let edges =
                    edges.as_ref().expect("an engine that does not complete at once has a descriptor");
                let mut events =
                    [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }];
                let timeout = Timespec { tv_sec: 10, tv_nsec: 0 };
                match epoll::wait(edges, &mut events, Some(&timeout)) {
                    Ok(0) => panic!("{}: {} of {MANY} were reported", variant.name, done.len()),
                    Ok(_) => engine.reap(Wait::No, &mut done).unwrap(),
                    Err(rustix::io::Errno::INTR) => {}
                    Err(e) => panic!("{e}"),
                }
            }
            for completion in done {
                assert_eq!(completion.result.unwrap(), BLOCK, "{}", variant.name);
            }
        }
    }
}

#[test]
fn an_engine_that_is_dropped_gives_memory_and_files_back() {
    let sample = Sample::new(1 << 20);
    for variant in variants().iter().filter(|v| v.reads()) {
        for committed in [false, true] {
            let (mut engine, pool) = variant.open();
            let file = sample.open(&variant.file_options());
            for i in 0..variant.options.depth {
                drop(engine.queue(read(&file, &pool, u64::from(i) * 65_536, BLOCK)));
            }
            if committed {
                engine.commit().unwrap();
            }
            drop(engine);
            assert_eq!(pool.free(), pool.count() as usize, "{} keeps buffers", variant.name);
            assert_eq!(Arc::strong_count(&file), 1, "{} keeps a file", variant.name);
        }
    }
}

#[test]
fn a_send_brings_the_file_to_the_socket() {
    let sample = Sample::new(1_000_000);
    for variant in variants().iter().filter(|v| v.sends()) {
        let (mut engine, _) = variant.open();
        let file = sample.open(&variant.file_options());
        for (from, to) in
            [(0, 1_000_000), (8, 9), (65_536, 300_000), (999_992, 1_000_000), (1_000_000, 1_000_000)]
        {
            let (socket, collected) = collector();
            let mut at = from;
            while at < to {
                let done = put_one(&mut *engine, send(&file, &socket, at, (to - at) as usize));
                match done.result {
                    Ok(count) => at += count as u64,
                    Err(e) => {
                        assert_eq!(e.kind(), ErrorKind::WouldBlock, "{}", variant.name);
                        let mut fds = [PollFd::new(&socket, PollFlags::OUT)];
                        // A signal for an engine of another test may come in between.
                        if let Err(e) = poll(&mut fds, None) {
                            assert_eq!(e.kind(), ErrorKind::Interrupted, "{}", variant.name);
                        }
                    }
                }
                assert!(at <= to, "{} sent too much", variant.name);
            }
            end(&socket);
            let bytes = collected.join().unwrap();
            assert_eq!(bytes.len() as u64, to - from, "{}", variant.name);
            assert!(content::is_right(KEY, from, &bytes), "{} from {from}", variant.name);
        }
    }
}

#[test]
fn a_send_ends_with_the_file_and_with_a_full_socket() {
    let sample = Sample::new(1 << 20);
    for variant in variants().iter().filter(|v| v.sends()) {
        let (mut engine, _) = variant.open();
        let file = sample.open(&variant.file_options());
        let (socket, collected) = collector();
        let done = put_one(&mut *engine, send(&file, &socket, (1 << 20) - 100, 5000));
        assert_eq!(done.result.unwrap(), 100, "{}", variant.name);
        end(&socket);
        assert_eq!(collected.join().unwrap().len(), 100, "{}", variant.name);

        // Nobody reads: the count reported is what the socket has, and the next send takes nothing.
        let (near, mut far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        let socket: Arc<OwnedFd> = Arc::new(near.into());
        let mut sent = 0;
        let error = loop {
            match put_one(&mut *engine, send(&file, &socket, sent, 1 << 20)).result {
                Ok(count) => sent += count as u64,
                Err(e) => break e,
            }
            assert!(sent < 1 << 20, "{} sends more than a socket holds", variant.name);
        };
        assert_eq!(error.kind(), ErrorKind::WouldBlock, "{}", variant.name);
        end(&socket);
        let mut bytes = Vec::new();
        far.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes.len() as u64, sent, "{}", variant.name);
        assert!(content::is_right(KEY, 0, &bytes), "{}", variant.name);
    }
}

#[test]
fn a_send_to_a_socket_that_is_shut_down_is_an_error() {
    let sample = Sample::new(100_000);
    for variant in variants().iter().filter(|v| v.sends()) {
        let (mut engine, _) = variant.open();
        let file = sample.open(&variant.file_options());
        let (near, _far) = UnixStream::pair().unwrap();
        near.shutdown(Shutdown::Both).unwrap();
        let done = put_one(&mut *engine, send(&file, &Arc::new(near.into()), 0, 1000));
        assert_eq!(done.result.unwrap_err().kind(), ErrorKind::BrokenPipe, "{}", variant.name);
    }
}

#[test]
fn what_cannot_be_read_is_an_error_and_the_engine_goes_on() {
    let sample = Sample::new(100_000);
    for variant in variants().iter().filter(|v| v.reads() && !v.options.direct) {
        let (mut engine, pool) = variant.open();
        let good = sample.open(&variant.file_options());
        let write_only = std::fs::OpenOptions::new().write(true).open(sample.path()).unwrap();
        let directory = std::fs::File::open(sample.path().parent().unwrap()).unwrap();
        for bad in [write_only, directory] {
            let bad = Arc::new(DiskFile::from_fd(bad.into(), &variant.file_options()).unwrap());
            let mut results: Vec<bool> = put_through(
                &mut *engine,
                [read(&bad, &pool, 0, BLOCK), read(&good, &pool, 0, BLOCK), read(&bad, &pool, 0, BLOCK)],
            )
            .into_iter()
            .map(|done| done.result.is_ok())
            .collect();
            results.sort_unstable();
            assert_eq!(results, [false, false, true], "{}", variant.name);
        }
    }
}

#[test]
fn a_misaligned_direct_read_is_an_error_or_right() {
    let sample = Sample::new(100_000);
    for variant in variants().iter().filter(|v| v.reads() && v.options.direct) {
        let (mut engine, pool) = variant.open();
        let done = put_one(&mut *engine, read(&sample.open(&variant.file_options()), &pool, 8, 1000));
        if let Ok(count) = done.result {
            let bytes = &done.operation.transfer.buffer().unwrap()[..count];
            assert!(count == 1000 && content::is_right(KEY, 8, bytes), "{}", variant.name);
        }
    }
}

#[test]
fn a_target_that_an_engine_lacks_is_an_error() {
    let sample = Sample::new(100_000);
    for variant in variants().iter().filter(|v| !v.options.direct) {
        let (mut engine, pool) = variant.open();
        let file = sample.open(&variant.file_options());
        let (near, _far) = UnixStream::pair().unwrap();
        let request = match (variant.reads(), variant.sends()) {
            (true, true) => continue,
            (true, false) => send(&file, &Arc::new(near.into()), 0, 1000),
            (false, _) => read(&file, &pool, 0, BLOCK),
        };
        let kind = put_one(&mut *engine, request).result.unwrap_err().kind();
        assert_eq!(kind, ErrorKind::Unsupported, "{}", variant.name);
    }
}

#[test]
fn a_file_truncated_while_it_is_read_is_short_and_never_wrong() {
    for variant in variants().iter().filter(|v| v.reads() && !v.options.direct) {
        for left in [0, 5000, 40_960, 65_535] {
            let sample = Sample::new(131_072);
            let (mut engine, pool) = variant.open();
            let file = sample.open(&variant.file_options());
            let before = put_one(&mut *engine, read(&file, &pool, 65_536, BLOCK));
            assert_eq!(before.result.unwrap(), BLOCK, "{}", variant.name);
            sample.truncate(left);
            for (offset, expected) in [(0, left), (65_536, 0), (8, left.saturating_sub(8))] {
                let done = put_one(&mut *engine, read(&file, &pool, offset, BLOCK));
                let count = done.result.unwrap();
                assert_eq!(count as u64, expected.min(BLOCK as u64), "{} cut to {left}", variant.name);
                let bytes = &done.operation.transfer.buffer().unwrap()[..count];
                assert!(content::is_right(KEY, offset, bytes), "{} cut to {left}", variant.name);
            }
        }
    }
}

#[test]
fn a_file_that_grows_is_read_to_its_new_end() {
    for variant in variants().iter().filter(|v| v.reads() && !v.options.direct) {
        let sample = Sample::new(100);
        let (mut engine, pool) = variant.open();
        let file = sample.open(&variant.file_options());
        assert_eq!(put_one(&mut *engine, read(&file, &pool, 0, BLOCK)).result.unwrap(), 100);
        sample.truncate(50_000);
        let done = put_one(&mut *engine, read(&file, &pool, 0, BLOCK));
        assert_eq!(done.result.unwrap(), 50_000, "{}", variant.name);
    }
}

#[test]
fn what_is_written_and_synced_is_read_back() {
    for variant in &variants() {
        let sample = Sample::new(0);
        let (mut engine, pool) = variant.open();
        let options = FileOptions { access: Access::ReadWrite, ..variant.file_options() };
        let file = sample.open(&options);
        for i in 0..8 {
            let done = put_one(&mut *engine, write(&file, &pool, i * 65_536, BLOCK));
            assert_eq!(done.result.unwrap(), BLOCK, "{}", variant.name);
        }
        for data_only in [false, true] {
            let transfer = Transfer::Sync { data_only };
            let sync = DiskOp { token: 0, file: Arc::clone(&file).into(), offset: 0, transfer };
            assert_eq!(put_one(&mut *engine, sync).result.unwrap(), 0, "{}", variant.name);
        }
        let bytes = std::fs::read(sample.path()).unwrap();
        assert_eq!(bytes.len(), 8 * BLOCK, "{}", variant.name);
        assert!(content::is_right(KEY, 0, &bytes), "{}", variant.name);
    }
}

#[test]
fn a_write_to_a_full_disk_is_an_error() {
    for variant in variants().iter().filter(|v| !v.options.direct) {
        let (mut engine, pool) = variant.open();
        let options = FileOptions { access: Access::ReadWrite, ..variant.file_options() };
        let full = Arc::new(DiskFile::open(std::path::Path::new("/dev/full"), &options).unwrap());
        let error = put_one(&mut *engine, write(&full, &pool, 0, 4096)).result.unwrap_err();
        // Linux AIO does not know this device at all.
        let expected =
            if variant.entry.name == "linux-aio" { ErrorKind::InvalidInput } else { ErrorKind::StorageFull };
        assert_eq!(error.kind(), expected, "{}", variant.name);
    }
}

#[test]
fn a_miss_goes_to_the_helpers_and_a_hit_does_not() {
    let sample = Sample::new(1 << 20);
    for variant in variants().iter().filter(|v| v.entry.name == "nowait" || v.options.mincore) {
        let (mut engine, pool) = variant.open();
        let file = sample.open(&variant.file_options());
        pitot_disk::cache::make_cold(&file).unwrap();
        assert_eq!(pitot_disk::cache::residency([&*file]).unwrap().resident, 0);
        let mut done = Vec::new();
        let is_miss = match engine.queue(read(&file, &pool, 0, BLOCK)) {
            Queued::InFlight => {
                engine.commit().unwrap();
                engine.reap(Wait::ForOne, &mut done).unwrap();
                true
            }
            // A kernel that finds nothing begins to read ahead before it says so, and a disk may be faster than its refusal. Where
            // the engine asks first what is there, it is told nothing.
            Queued::Done(completion) => {
                assert!(!variant.options.mincore, "{}", variant.name);
                done.push(completion);
                false
            }
            Queued::Full(_) => panic!("{} is full of nothing", variant.name),
        };
        assert!(content::is_right(KEY, 0, &done[0].operation.transfer.buffer().unwrap()[..BLOCK]));
        assert_eq!(engine.misses(), u64::from(is_miss), "{}", variant.name);
        pitot_disk::cache::make_hot(&file).unwrap();
        drop(done);
        let queued = engine.queue(read(&file, &pool, 131_072, BLOCK));
        assert!(matches!(queued, Queued::Done(_)), "{} does not answer a hit at once", variant.name);
        assert_eq!(engine.misses(), u64::from(is_miss), "{}", variant.name);
    }
}
