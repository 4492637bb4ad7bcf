//! Descriptors and memory go back to where they were. One test, alone in its process, which others would disturb.

mod common;

use std::fs;

use pitot_disk::{Access, FileOptions};

use common::{BLOCK, DEPTH, Sample, collector, end, put_one, put_through, read, send, variants, write};

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

fn resident_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// One life of every engine: opened, used, made to fail, dropped with requests in flight.
fn one_life() {
    for variant in variants() {
        let sample = Sample::new(1 << 20);
        let (mut engine, pool) = variant.open();
        let file = sample.open(&FileOptions { access: Access::ReadWrite, ..variant.file_options() });
        assert!(put_one(&mut *engine, write(&file, &pool, 0, BLOCK)).result.is_ok());
        if variant.sends() {
            let (socket, collected) = collector();
            drop(put_through(
                &mut *engine,
                [send(&file, &socket, 0, 1000), send(&file, &socket, 1 << 30, 1000)],
            ));
            end(&socket);
            assert_eq!(collected.join().unwrap().len(), 1000);
        }
        if variant.reads() {
            drop(put_through(
                &mut *engine,
                (0..2 * u64::from(DEPTH)).map(|i| read(&file, &pool, i << 16, BLOCK)),
            ));
            sample.truncate(100_000);
            drop(put_through(
                &mut *engine,
                (0..2 * u64::from(DEPTH)).map(|i| read(&file, &pool, i << 16, BLOCK)),
            ));
            for i in 0..variant.options.depth {
                drop(engine.queue(read(&file, &pool, u64::from(i) << 16, BLOCK)));
            }
            engine.commit().unwrap();
        }
    }
}

#[test]
fn many_lives_of_all_engines_leave_no_descriptor_and_no_memory_behind() {
    // The first life pays for what is made once per process: handlers, the library's threads, arenas.
    for _ in 0..3 {
        one_life();
    }
    let (descriptors_before, resident_before) = (descriptors(), resident_kib());
    for _ in 0..5 {
        one_life();
    }
    // The kernel closes a ring after its descriptor is gone, but the descriptor goes at once.
    assert_eq!(descriptors(), descriptors_before);
    let grown = resident_kib().saturating_sub(resident_before);
    // One buffer that is kept per life and engine would be some 30 MiB.
    assert!(grown < 8 * 1024, "grew by {grown} KiB");
}
