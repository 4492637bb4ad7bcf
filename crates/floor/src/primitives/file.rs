//! Small files.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use pitot_sys::Unavailable;

use crate::contract::refused;
use crate::{Operation, Place, Primitive, Topic, Work};

const CONTENT: [u8; 1024] = [b'x'; 1024];

pub(super) static TOPIC: Topic = Topic {
    title: "Files",
    primitives: &[
        Primitive {
            name: "file-create",
            summary: "a file of 1 KiB created, written, closed and removed",
            operation: Operation::Call,
            make: |place| {
                let path = path(place);
                Ok(Box::new(move |count, watch| {
                    watch.time(count, || {
                        (0..count).try_for_each(|_| {
                            File::create(&path)?.write_all(&CONTENT)?;
                            std::fs::remove_file(&path)
                        })
                    })
                }))
            },
        },
        Primitive {
            name: "file-open",
            summary: "open(2) and close(2) of a file that is cached",
            operation: Operation::Call,
            make: |place| {
                on_file(place, |scratch, count| {
                    (0..count).try_for_each(|_| File::open(&scratch.path).map(drop))
                })
            },
        },
        Primitive {
            name: "file-read",
            summary: "1 KiB read from a file that is cached (pread(2))",
            operation: Operation::Call,
            make: |place| {
                on_file(place, |scratch, count| {
                    let mut buffer = [0; CONTENT.len()];
                    (0..count).try_for_each(|_| scratch.file.read_exact_at(&mut buffer, 0))
                })
            },
        },
        Primitive {
            name: "file-fsync",
            summary: "1 KiB overwritten and synchronised (fsync(2))",
            operation: Operation::Call,
            make: |place| {
                on_file(place, |scratch, count| {
                    (0..count).try_for_each(|_| {
                        scratch.file.write_all_at(&CONTENT, 0)?;
                        scratch.file.sync_all()
                    })
                })
            },
        },
    ],
};

fn path(place: &Place) -> PathBuf {
    place.dir.join(format!("pitot-floor-{}", std::process::id()))
}

/// A file that is removed at the end.
struct Scratch {
    path: PathBuf,
    file: File,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn on_file(place: &Place, work: fn(&Scratch, u64) -> io::Result<()>) -> Result<Work, Unavailable> {
    let path = path(place);
    let made = File::options().read(true).write(true).create(true).truncate(true).open(&path);
    let file = made.map_err(|e| refused(&format!("a file in {}", place.dir.display()), &e))?;
    let scratch = Scratch { path, file };
    scratch.file.write_all_at(&CONTENT, 0).map_err(|e| refused("the file", &e))?;
    Ok(Box::new(move |count, watch| watch.time(count, || work(&scratch, count))))
}
