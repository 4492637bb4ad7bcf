use std::fs::File;
use std::io::Write;

use super::*;
use crate::disk::Buffer;

fn read(file: &File, token: u64, offset: u64, len: usize) -> Operation<File> {
    let transfer = Transfer::Read { buffer: Buffer::alone(len).unwrap(), len };
    Operation { token, file: file.try_clone().unwrap(), offset, transfer }
}

fn letters() -> File {
    let path = std::env::temp_dir().join(format!(
        "pitot-aio-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    ));
    let mut file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    file.write_all(b"abcdefghijklmnopqrstuvwxyz").unwrap();
    file
}

#[test]
fn every_notification_reports_every_completion() {
    let file = letters();
    for notification in [Notification::Poll, Notification::Signal, Notification::Thread] {
        let mut aio = PosixAio::new(8, notification).unwrap();
        for round in 0..50 {
            for i in 0..8 {
                aio.submit(read(&file, round * 8 + i, i, 1)).map_err(|_| "refused").unwrap();
            }
            assert!(matches!(aio.submit(read(&file, 0, 0, 1)), Err(Refused::Full(_))));
            let mut done = Vec::new();
            while aio.in_flight() > 0 {
                aio.reap(Wait::ForOne, &mut done).unwrap();
            }
            assert_eq!(done.len(), 8, "{notification:?}");
            for finished in done {
                assert_eq!(finished.result.unwrap(), 1);
                let expected = b'a' + (finished.operation.token % 8) as u8;
                assert_eq!(finished.operation.transfer.buffer().unwrap()[0], expected);
            }
        }
    }
}

#[test]
fn a_dropped_instance_frees_its_channel() {
    let file = letters();
    for _ in 0..200 {
        let mut aio = PosixAio::new(4, Notification::Thread).unwrap();
        for i in 0..4 {
            aio.submit(read(&file, i, i, 1)).map_err(|_| "refused").unwrap();
        }
    }
}
