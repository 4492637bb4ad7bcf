//! Block devices that are files (loop(4)).

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::PathBuf;

/// `LOOP_CTL_GET_FREE` and `LOOP_CONFIGURE` of linux/loop.h.
const LOOP_CTL_GET_FREE: libc::Ioctl = 0x4C82;
const LOOP_CONFIGURE: libc::Ioctl = 0x4C0A;
/// The device lets go of its file when nobody has it open or mounted any more.
const LO_FLAGS_AUTOCLEAR: u32 = 4;
/// What is written goes to the file past its page cache, where its file system can do that.
const LO_FLAGS_DIRECT_IO: u32 = 16;

/// How often another process may have taken the free device first.
const ATTEMPTS: usize = 16;

/// `struct loop_info64`.
#[repr(C)]
struct Info {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config`.
#[repr(C)]
struct Config {
    fd: u32,
    block_size: u32,
    info: Info,
    reserved: [u64; 8],
}

/// A block device whose content is a file. It is gone when this is dropped and nobody has mounted it.
#[derive(Debug)]
pub struct LoopDevice {
    path: PathBuf,
    _device: File,
}

impl LoopDevice {
    /// Takes a free device for a file that is open for reading and writing.
    ///
    /// # Errors
    /// EACCES or EPERM without the rights, ENOENT where the kernel has no such devices.
    pub fn of(file: &File) -> io::Result<LoopDevice> {
        let control = OpenOptions::new().read(true).write(true).open("/dev/loop-control")?;
        let mut attempts = 0..ATTEMPTS;
        loop {
            // SAFETY: the command takes no argument and touches no memory of this process.
            let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE) };
            if number < 0 {
                return Err(io::Error::last_os_error());
            }
            let path = PathBuf::from(format!("/dev/loop{number}"));
            let device = OpenOptions::new().read(true).write(true).open(&path)?;
            // SAFETY: Config holds integers alone, so zeroes are a valid one.
            let mut config: Config = unsafe { std::mem::zeroed() };
            config.fd = file.as_raw_fd() as u32;
            config.info.flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO;
            // SAFETY: the command reads a loop_config, which lives until the call returns; both descriptors are open.
            let done = unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE, &raw const config) };
            if done == 0 {
                return Ok(LoopDevice { path, _device: device });
            }
            let e = io::Error::last_os_error();
            if e.kind() != io::ErrorKind::ResourceBusy || attempts.next().is_none() {
                return Err(e);
            }
        }
    }

    /// The name of the device.
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }
}

/// A name by which other programs can open a file of this process, though it has none in any directory.
pub fn name_of(file: BorrowedFd<'_>) -> PathBuf {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_the_sizes_of_the_kernel() {
        assert_eq!((size_of::<Info>(), size_of::<Config>()), (232, 304));
    }
}
