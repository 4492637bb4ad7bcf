//! What every mechanism must do, run over all of them.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use super::*;
use crate::Token;

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (server, _) = listener.accept().unwrap();
    server.set_nonblocking(true).unwrap();
    (client, server)
}

/// Waits until `token` is reported as readable (or the time is over), whatever else is reported.
fn reports_readable<R: Readiness>(mechanism: &mut R, token: Token) -> bool {
    let mut ready = Vec::new();
    for _ in 0..20 {
        mechanism.wait(Some(Duration::from_millis(100)), &mut ready).unwrap();
        if ready.iter().any(|r| r.token == token && r.readable) {
            return true;
        }
    }
    false
}

fn reports_input_and_of_the_end<R: Readiness>() {
    let mut mechanism = R::new().unwrap();
    let (mut client, mut server) = pair();
    let token = Token::new(3, 9);
    mechanism.watch(server.as_fd(), token, Interest::Read).unwrap();
    client.write_all(b"x").unwrap();
    assert!(reports_readable(&mut mechanism, token));
    assert_eq!(server.read(&mut [0; 9]).unwrap(), 1);
    drop(client);
    assert!(reports_readable(&mut mechanism, token));
    mechanism.unwatch(server.as_fd(), true);
}

fn reports_what_was_there_before<R: Readiness>() {
    let mut mechanism = R::new().unwrap();
    let (mut client, server) = pair();
    client.write_all(b"x").unwrap();
    server
        .peek(&mut [0])
        .or_else(|_| {
            server.set_nonblocking(false)?;
            server.peek(&mut [0])
        })
        .unwrap();
    mechanism.watch(server.as_fd(), Token::new(4, 4), Interest::Read).unwrap();
    assert!(reports_readable(&mut mechanism, Token::new(4, 4)));
}

fn wakes_from_another_thread<R: Readiness>() {
    let mut mechanism = R::new().unwrap();
    let waker = crate::Waker::new().unwrap();
    mechanism.watch(waker.as_fd(), Token::new(5, 5), Interest::Read).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| waker.wake());
        assert!(reports_readable(&mut mechanism, Token::new(5, 5)));
    });
}

fn forgets_what_is_unwatched<R: Readiness>() {
    let mut mechanism = R::new().unwrap();
    let (mut client, server) = pair();
    let (mut other_client, other) = pair();
    mechanism.watch(server.as_fd(), Token::new(1, 0), Interest::Read).unwrap();
    mechanism.watch(other.as_fd(), Token::new(2, 0), Interest::Read).unwrap();
    mechanism.unwatch(server.as_fd(), false);
    client.write_all(b"x").unwrap();
    other_client.write_all(b"x").unwrap();
    assert!(reports_readable(&mut mechanism, Token::new(2, 0)));
    let mut ready = Vec::new();
    mechanism.wait(Some(Duration::ZERO), &mut ready).unwrap();
    assert!(ready.iter().all(|r| r.token != Token::new(1, 0)));
}

fn waits_no_longer_than_asked<R: Readiness>() {
    let mut mechanism = R::new().unwrap();
    let (_client, server) = pair();
    mechanism.watch(server.as_fd(), Token::new(1, 0), Interest::Read).unwrap();
    let mut ready = Vec::new();
    mechanism.wait(Some(Duration::from_millis(1)), &mut ready).unwrap();
    assert!(ready.iter().all(|r| !r.readable));
}

fn works_beyond_1024_descriptors<R: Readiness>() {
    let mut mechanism = R::new().unwrap();
    crate::limits::raise_descriptors().unwrap();
    let (mut client, server) = pair();
    let high = rustix::io::fcntl_dupfd_cloexec(&server, 3000);
    let Ok(high) = high else {
        assert!(crate::limits::descriptors() <= 3000);
        return;
    };
    mechanism.watch(high.as_fd(), Token::new(7, 7), Interest::Read).unwrap();
    client.write_all(b"x").unwrap();
    assert!(reports_readable(&mut mechanism, Token::new(7, 7)));
    mechanism.unwatch(high.as_fd(), false);
    mechanism.wait(Some(Duration::ZERO), &mut Vec::new()).unwrap();
}

fn level_interest_in_writing_can_be_given_up<R: Readiness>() {
    let mut mechanism = R::new().unwrap();
    if mechanism.trigger() == Trigger::Edge {
        return;
    }
    let (_client, server) = pair();
    let token = Token::new(1, 0);
    mechanism.watch(server.as_fd(), token, Interest::ReadWrite).unwrap();
    let mut ready = Vec::new();
    mechanism.wait(Some(Duration::from_secs(5)), &mut ready).unwrap();
    assert_eq!(ready, [Ready { token, readable: false, writable: true, ended: false }]);
    mechanism.rewatch(server.as_fd(), token, Interest::Read).unwrap();
    ready.clear();
    mechanism.wait(Some(Duration::ZERO), &mut ready).unwrap();
    assert_eq!(ready, []);
}

fn interest_comes_back_after_another_has_gone<R: Readiness>() {
    let mut mechanism = R::new().unwrap();
    let ((mut client, server), (_other_client, other)) = (pair(), pair());
    let (token, other_token) = (Token::new(1, 1), Token::new(2, 1));
    mechanism.watch(server.as_fd(), token, Interest::Nothing).unwrap();
    // Its descriptor is the higher one.
    mechanism.watch(other.as_fd(), other_token, Interest::Read).unwrap();
    mechanism.unwatch(other.as_fd(), false);
    client.write_all(b"x").unwrap();
    mechanism.rewatch(server.as_fd(), token, Interest::Read).unwrap();
    assert!(reports_readable(&mut mechanism, token));
}

/// A socket that was full before it was watched, and one that is found full later, are reported once there is room.
fn room_in_a_socket_that_is_a_file_is_reported<R: Readiness>() {
    let mut mechanism = R::new().unwrap();
    if mechanism.trigger() == Trigger::Level {
        return;
    }
    let (mut reader, mut writer) = std::os::unix::net::UnixStream::pair().unwrap();
    writer.set_nonblocking(true).unwrap();
    reader.set_nonblocking(true).unwrap();
    let fill = |writer: &mut std::os::unix::net::UnixStream| while writer.write(&[0; 4096]).is_ok() {};
    let token = Token::new(3, 2);
    fill(&mut writer);
    mechanism.watch(writer.as_fd(), token, Interest::Write).unwrap();
    for _ in 0..3 {
        // What is reported too much ends with another failure.
        let mut ready = Vec::new();
        mechanism.wait(Some(Duration::ZERO), &mut ready).unwrap();
        fill(&mut writer);
        mechanism.rewatch(writer.as_fd(), token, Interest::Write).unwrap();
        while std::io::Read::read(&mut reader, &mut [0; 65_536]).is_ok() {}
        ready.clear();
        mechanism.wait(Some(Duration::from_secs(5)), &mut ready).unwrap();
        assert!(ready.iter().any(|r| r.token == token && r.writable), "{ready:?}");
        fill(&mut writer);
    }
}

/// Input and its end that arrive before the watch are one edge: who receives the input hears of the end now or never.
fn reports_the_end_behind_input<R: Readiness>() {
    let mut mechanism = R::new().unwrap();
    if mechanism.trigger() == Trigger::Level {
        return;
    }
    let (mut client, server) = pair();
    finish(&mut client, &server);
    let token = Token::new(6, 1);
    mechanism.watch(server.as_fd(), token, Interest::Read).unwrap();
    let mut ready = Vec::new();
    mechanism.wait(Some(Duration::from_secs(5)), &mut ready).unwrap();
    assert_eq!(ready, [Ready { token, readable: true, writable: ready[0].writable, ended: true }]);
}

/// Sends a byte and finishes, and waits until both have arrived.
fn finish(client: &mut TcpStream, server: &TcpStream) {
    use rustix::event::{PollFd, PollFlags, poll};
    client.write_all(b"x").unwrap();
    client.shutdown(std::net::Shutdown::Write).unwrap();
    poll(&mut [PollFd::new(server, PollFlags::RDHUP)], None).unwrap();
}

#[test]
fn realtime_signals_that_were_lost_are_made_up_for() {
    let mut mechanism = SigIo::new().unwrap();
    let (mut client, server) = pair();
    let token = Token::new(6, 2);
    mechanism.watch(server.as_fd(), token, Interest::Read).unwrap();
    finish(&mut client, &server);
    // What the kernel sends when its queue of signals is full.
    let thread = rustix::thread::gettid().as_raw_nonzero().get();
    // SAFETY: the signal goes to this thread, which has it blocked.
    assert_eq!(unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, libc::SIGIO) }, 0);
    let mut ready = Vec::new();
    mechanism.wait(Some(Duration::from_secs(5)), &mut ready).unwrap();
    assert_eq!(mechanism.overflows(), 1);
    assert_eq!(ready, [Ready { token, readable: true, writable: true, ended: true }]);
}

pub(super) fn all<R: Readiness>() {
    reports_input_and_of_the_end::<R>();
    reports_what_was_there_before::<R>();
    wakes_from_another_thread::<R>();
    forgets_what_is_unwatched::<R>();
    waits_no_longer_than_asked::<R>();
    works_beyond_1024_descriptors::<R>();
    level_interest_in_writing_can_be_given_up::<R>();
    interest_comes_back_after_another_has_gone::<R>();
    reports_the_end_behind_input::<R>();
    room_in_a_socket_that_is_a_file_is_reported::<R>();
}

#[test]
fn select_does_what_a_mechanism_must() {
    all::<Select>();
}

#[test]
fn poll_does_what_a_mechanism_must() {
    all::<Poll>();
}

#[test]
fn epoll_level_does_what_a_mechanism_must() {
    all::<EpollLevel>();
}

#[test]
fn epoll_edge_does_what_a_mechanism_must() {
    all::<EpollEdge>();
    all::<EpollBusy>();
}

#[test]
fn realtime_signals_do_what_a_mechanism_must() {
    all::<SigIo>();
}
