use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use pitot_needs::needs;

use super::*;

fn small() -> Options {
    Options { submissions: 4, completions: 64, buffers: 4, buffer_bytes: 16, direct: 8, ..Options::default() }
}

fn ring_with(options: Options) -> Ring {
    Ring::new(options).unwrap_or_else(|e| panic!("{e}; to fix it: {}", e.fix))
}

fn ring() -> Ring {
    ring_with(small())
}

fn next(ring: &mut Ring) -> Completion {
    for _ in 0..50 {
        if let Some(completion) = ring.next_completion() {
            return completion;
        }
        ring.wait(Some(Duration::from_millis(200))).unwrap();
    }
    panic!("nothing completed");
}

fn accepted(ring: &mut Ring, direct: bool) -> (TcpStream, RingFd, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    ring.accept(Token::new(9, 0), listener.as_fd(), direct);
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    match next(ring) {
        Completion::Accepted { result: Ok(fd), last: false, token } if token == Token::new(9, 0) => {
            (client, fd, listener)
        }
        other => panic!("{other:?}"),
    }
}

/// Receives so many bytes, in the pieces in which they come, and keeps the buffers until there are no others. The receive is armed before
/// and after.
fn pieces(ring: &mut Ring, token: Token, fd: &RingFd, wanted: usize) -> (Vec<Vec<u8>>, Vec<Chunk>) {
    let (mut pieces, mut lent, mut count) = (Vec::new(), Vec::new(), 0);
    while count < wanted {
        match next(ring) {
            Completion::Received { result: Ok(Some(chunk)), last, .. } => {
                pieces.push(ring.chunk(&chunk).to_vec());
                count += chunk.len();
                lent.push(chunk);
                if last {
                    ring.receive(token, fd);
                }
            }
            Completion::Received { result: Err(e), last: true, .. } => {
                assert_eq!(e.raw_os_error(), Some(libc::ENOBUFS));
                lent.drain(..).for_each(|chunk| ring.recycle(chunk));
                ring.receive(token, fd);
            }
            other => panic!("{other:?}"),
        }
    }
    (pieces, lent)
}

#[test]
fn bytes_come_in_and_go_out() {
    for direct in [false, true] {
        let mut ring = ring();
        let (mut client, fd, _listener) = accepted(&mut ring, direct);
        let token = Token::new(1, 2);
        ring.receive(token, &fd);
        // More than all the buffers hold: the receive ends with ENOBUFS and goes on when armed again.
        let sent: Vec<u8> = (0..200).collect();
        client.write_all(&sent).unwrap();
        let (pieces, lent) = pieces(&mut ring, token, &fd, sent.len());
        assert_eq!(pieces.concat(), sent);
        lent.into_iter().for_each(|chunk| ring.recycle(chunk));
        let mut payload = ring.payload();
        payload.push_bytes(b"xab".to_vec(), 1);
        payload.push_static(b"cd");
        ring.send(token, &fd, payload, false);
        match next(&mut ring) {
            Completion::Sent { result: Ok(4), token: t, .. } => assert_eq!(t, token),
            other => panic!("{other:?}"),
        }
        let mut reply = [0; 4];
        client.read_exact(&mut reply).unwrap();
        assert_eq!(&reply, b"abcd");
        ring.cancel_receive(token);
        ring.close(fd);
        loop {
            match next(&mut ring) {
                Completion::Received { result: Err(e), last: true, .. } => {
                    assert_eq!(e.raw_os_error(), Some(libc::ECANCELED));
                    break;
                }
                Completion::Received { result: Ok(Some(chunk)), .. } => ring.recycle(chunk),
                other => panic!("{other:?}"),
            }
        }
        ring.wait(Some(Duration::ZERO)).unwrap();
        assert_eq!(client.read(&mut reply).unwrap(), 0);
    }
}

#[needs("linux-6.12")]
#[test]
fn a_bundle_brings_all_bytes_in_order_wherever_its_buffers_lie() {
    let mut ring = ring_with(Options { bundles: true, buffers: 8, ..small() });
    let (mut client, fd, _listener) = accepted(&mut ring, true);
    let token = Token::new(1, 2);
    let bytes: Vec<u8> = (0..4000).map(|n| (n % 251) as u8).collect();
    let (mut received, mut longest) = (Vec::new(), 0);
    ring.receive(token, &fd);
    for part in bytes.chunks(100) {
        client.write_all(part).unwrap();
        let (pieces, lent) = pieces(&mut ring, token, &fd, part.len());
        longest = pieces.iter().map(Vec::len).fold(longest, usize::max);
        received.extend(pieces.concat());
        // In the other order, so that buffers that follow one another in the queue lie apart.
        lent.into_iter().rev().for_each(|chunk| ring.recycle(chunk));
    }
    assert_eq!(received, bytes);
    assert!(longest > 16, "{longest}");
    ring.close(fd);
}

#[test]
fn a_ring_without_multishot_takes_one_connection_and_one_part_at_a_time() {
    for direct in [false, true] {
        let mut ring = ring_with(Options { multishot: false, deferred: false, ..small() });
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        ring.accept(Token::new(9, 0), listener.as_fd(), direct);
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let Completion::Accepted { result: Ok(fd), last: true, .. } = next(&mut ring) else {
            panic!("it goes on")
        };
        for part in [*b"one", *b"two"] {
            ring.receive(Token::new(1, 0), &fd);
            client.write_all(&part).unwrap();
            match next(&mut ring) {
                Completion::Received { result: Ok(Some(chunk)), last: true, .. } => {
                    assert_eq!(ring.chunk(&chunk), part);
                    ring.recycle(chunk);
                }
                other => panic!("{other:?}"),
            }
        }
        ring.close(fd);
    }
}

#[test]
fn bytes_that_are_not_copied_come_back_when_they_are_no_longer_in_use() {
    for parts in [1, 2] {
        let mut ring = ring_with(Options { zero_copy_min: Some(1000), ..small() });
        let (mut client, fd, _listener) = accepted(&mut ring, true);
        let sent = vec![7; 10_000];
        let mut payload = ring.payload();
        (0..parts).for_each(|_| payload.push_bytes(sent.clone(), 0));
        ring.send(Token::new(1, 0), &fd, payload, false);
        match next(&mut ring) {
            Completion::Sent { result: Ok(n), payload, .. } => {
                assert_eq!((n, payload.len()), (parts * sent.len(), parts * sent.len()));
            }
            other => panic!("{other:?}"),
        }
        let mut received = vec![0; parts * sent.len()];
        client.read_exact(&mut received).unwrap();
        assert!(received.iter().all(|byte| *byte == 7));
        ring.close(fd);
    }
}

#[needs("linux-6.12")]
#[test]
fn a_wait_gathers_what_comes_in_its_time() {
    // A signal of another test would end a wait.
    // SAFETY: the set is filled before it is read, and lives through the call.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
    }
    let gather = Duration::from_millis(50);
    let mut ring = ring_with(Options { gather, ..small() });
    let began = std::time::Instant::now();
    let (mut client, fd, _listener) = accepted(&mut ring, true);
    // The accept was there at once, and the wait went on.
    assert!(began.elapsed() >= gather);
    ring.receive(Token::new(1, 0), &fd);
    client.write_all(b"a").unwrap();
    let Completion::Received { result: Ok(Some(chunk)), .. } = next(&mut ring) else {
        panic!("nothing came")
    };
    ring.recycle(chunk);
    assert!(began.elapsed() >= gather * 2);
    ring.close(fd);
}

#[test]
fn the_end_of_input_is_told_once_and_last() {
    let mut ring = ring();
    let (client, fd, _listener) = accepted(&mut ring, true);
    ring.receive(Token::new(1, 0), &fd);
    drop(client);
    match next(&mut ring) {
        Completion::Received { result: Ok(None), last: true, .. } => {}
        other => panic!("{other:?}"),
    }
    ring.close(fd);
}

#[test]
fn a_file_is_read_into_the_buffer_given() {
    let mut ring = ring();
    let file = Arc::new(OwnedFd::from(std::fs::File::open("/proc/self/cmdline").unwrap()));
    ring.read(Token::new(1, 0), &file, 0, 4, Vec::new());
    match next(&mut ring) {
        Completion::Read { result: Ok(4), buffer, .. } => assert_eq!(buffer.len(), 4),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_refused_connect_says_so() {
    let mut ring = ring();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let socket =
        rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, None).unwrap();
    let fd = RingFd::Plain(socket);
    ring.connect(Token::new(1, 0), &fd, closed);
    match next(&mut ring) {
        Completion::Connected { result: Err(e), .. } => {
            assert_eq!(e.kind(), io::ErrorKind::ConnectionRefused);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_ring_may_be_dropped_with_everything_in_flight() {
    let mut ring = ring();
    let (_client, fd, _listener) = accepted(&mut ring, false);
    ring.receive(Token::new(1, 0), &fd);
    for _ in 0..3 {
        let mut payload = ring.payload();
        payload.push_bytes(vec![1; 4 << 20], 0);
        ring.send(Token::new(1, 0), &fd, payload, false);
    }
    ring.wait(Some(Duration::from_millis(1))).unwrap();
}

#[test]
fn a_shutdown_meets_its_own_socket_and_not_the_next_of_its_number() {
    for direct in [false, true] {
        let mut ring = ring();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        ring.accept(Token::new(9, 0), listener.as_fd(), direct);
        let connect = |ring: &mut Ring| {
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            match next(ring) {
                Completion::Accepted { result: Ok(fd), .. } => (client, fd),
                other => panic!("{other:?}"),
            }
        };
        for _ in 0..200 {
            let (mut first, fd) = connect(&mut ring);
            ring.finish_sending(&fd);
            ring.close(fd);
            let (mut second, fd) = connect(&mut ring);
            let mut payload = ring.payload();
            payload.push_static(b"hello");
            ring.send(Token::new(1, 0), &fd, payload, false);
            let Completion::Sent { result, .. } = next(&mut ring) else { panic!("not a send") };
            assert_eq!(result.unwrap(), 5);
            second.read_exact(&mut [0; 5]).unwrap();
            assert_eq!(first.read(&mut [0]).unwrap(), 0);
            ring.close(fd);
        }
    }
}

#[test]
fn buffers_stay_mapped_while_a_receive_may_write_into_them() {
    use std::os::unix::fs::FileExt;
    const PATTERN: &[u8; 16] = b"still mapped 42!";
    for has_ended in [true, false] {
        let mut ring = ring();
        let (mut client, fd, _listener) = accepted(&mut ring, false);
        let token = Token::new(1, 2);
        ring.receive(token, &fd);
        client.write_all(PATTERN).unwrap();
        let Completion::Received { result: Ok(Some(chunk)), last: false, .. } = next(&mut ring) else {
            panic!("nothing was received")
        };
        let place = ring.chunk(&chunk).as_ptr() as u64;
        ring.recycle(chunk);
        if !has_ended {
            // As if the kernel did not report the end of one in time.
            ring.receives += 1;
        }
        drop(ring);
        let mut found = [0; PATTERN.len()];
        // Reading by the file fails where memory is not mapped.
        let read = std::fs::File::open("/proc/self/mem").unwrap().read_exact_at(&mut found, place);
        assert_eq!(read.is_ok() && &found == PATTERN, !has_ended);
    }
}
