//! Which of the listeners that share a port (SO_REUSEPORT, socket(7)) gets a connection. Without a rule the kernel chooses by a hash
//! of the addresses and ports.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Makes the listener get the connections whose first packet its CPU receives (SO_INCOMING_CPU; of listeners that share a port,
/// Linux 6.2 and later).
///
/// # Errors
/// EBADF; EINVAL for a number that is too large.
pub fn prefer_cpu(listener: impl AsFd, cpu: usize) -> io::Result<()> {
    let cpu = u32::try_from(cpu).map_err(|_| io::ErrorKind::InvalidInput)?;
    Ok(rustix::net::sockopt::set_socket_incoming_cpu(listener, cpu)?)
}

/// The same by a program of the group (SO_ATTACH_REUSEPORT_CBPF, Linux 4.5): the listener at an index gets the connections whose
/// first packet the CPU at the same index receives. Those of other CPUs are spread over all of them by the number of the CPU.
/// All listeners must listen already.
///
/// # Errors
/// EINVAL for more than 2,046 listeners; ENOENT for none.
pub fn choose_by_cpu(listeners: &[OwnedFd], cpus: &[usize]) -> io::Result<()> {
    let first = listeners.first().ok_or(io::ErrorKind::NotFound)?;
    let program = program(listeners.len(), cpus).ok_or(io::ErrorKind::InvalidInput)?;
    let program = Program { len: program.len() as u16, instructions: program.as_ptr() };
    // SAFETY: the kernel reads a pointer and a count from the first pointer, and copies as many instructions from the second; both
    // live until the call returns.
    let done = unsafe {
        let size = size_of::<Program>() as libc::socklen_t;
        let (level, name) = (libc::SOL_SOCKET, libc::SO_ATTACH_REUSEPORT_CBPF);
        libc::setsockopt(first.as_raw_fd(), level, name, (&raw const program).cast(), size)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// `struct sock_fprog` of linux/filter.h.
#[repr(C)]
struct Program {
    len: u16,
    instructions: *const Instruction,
}

/// `struct sock_filter`: an instruction of classic BPF.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Instruction {
    code: u16,
    if_true: u8,
    if_false: u8,
    operand: u32,
}

/// The most instructions of a program (BPF_MAXINSNS).
const INSTRUCTIONS_MAX: usize = 4096;

/// The program: it returns the index of the current CPU in `cpus`, and the number of the CPU modulo `listeners` if it is not there.
/// `None` if it would be too long.
fn program(listeners: usize, cpus: &[usize]) -> Option<Vec<Instruction>> {
    let plain = |code, operand| Instruction { code, if_true: 0, if_false: 0, operand };
    // BPF_LD | BPF_W | BPF_ABS at SKF_AD_OFF + SKF_AD_CPU, an address that stands for the current CPU.
    let mut program = vec![plain(0x20, (-0x1000_i32 + 36) as u32)];
    for (index, &cpu) in cpus.iter().enumerate().take(listeners) {
        // BPF_JMP | BPF_JEQ | BPF_K: the next instruction if it is this CPU, and else the one after it.
        let is_this = Instruction { if_false: 1, ..plain(0x15, u32::try_from(cpu).ok()?) };
        // BPF_RET | BPF_K
        program.extend([is_this, plain(0x06, index as u32)]);
    }
    // BPF_ALU | BPF_MOD | BPF_K, then BPF_RET | BPF_A.
    program.extend([plain(0x94, u32::try_from(listeners).ok()?), plain(0x16, 0)]);
    (program.len() <= INSTRUCTIONS_MAX).then_some(program)
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;
    use crate::{affinity, socket};

    /// Two listeners on one port, and which of them got a connection.
    fn group() -> Vec<OwnedFd> {
        let how = socket::Listen { backlog: 8, reuse_port: true, nonblocking: true, congestion: None };
        let first = socket::listen("127.0.0.1:0".parse().unwrap(), how).unwrap();
        let second = socket::listen(socket::local_addr(&first).unwrap(), how).unwrap();
        vec![first, second]
    }

    /// Opens eight connections from this CPU, and counts those that each listener got.
    fn connect_from(cpu: usize, listeners: &[OwnedFd]) -> [usize; 2] {
        let addr = socket::local_addr(&listeners[0]).unwrap();
        std::thread::spawn(move || {
            affinity::pin(&[cpu]).unwrap();
            (0..8).map(|_| TcpStream::connect(addr).unwrap()).collect::<Vec<_>>()
        })
        .join()
        .unwrap();
        [0, 1].map(|i| std::iter::from_fn(|| socket::accept(&listeners[i], true).ok()).count())
    }

    #[test]
    fn the_program_sends_each_cpu_to_its_listener_and_others_anywhere() {
        let cpus = affinity::allowed().unwrap();
        let cpu = cpus[0];
        let listeners = group();
        choose_by_cpu(&listeners, &[cpu + 1, cpu]).unwrap();
        assert_eq!(connect_from(cpu, &listeners), [0, 8]);
        // The last rule counts.
        choose_by_cpu(&listeners, &[cpu, cpu + 1]).unwrap();
        assert_eq!(connect_from(cpu, &listeners), [8, 0]);
        choose_by_cpu(&listeners, &[]).unwrap();
        let mut all_to_one = [0; 2];
        all_to_one[cpu % 2] = 8;
        assert_eq!(connect_from(cpu, &listeners), all_to_one);
    }

    #[test]
    fn a_program_that_is_too_long_is_refused() {
        let cpus: Vec<usize> = (0..4096).collect();
        assert!(program(2046, &cpus).is_some());
        assert!(program(2047, &cpus).is_none());
        assert_eq!(choose_by_cpu(&[], &[]).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
