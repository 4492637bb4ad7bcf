//! A DNS server with a few names.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};

/// One record, or what there is instead.
#[derive(Clone, Copy)]
pub enum Data {
    Mx(u16, &'static str),
    A([u8; 4]),
    Aaaa([u8; 16]),
    /// The records are too long for a datagram, and are sent over TCP only.
    Long,
    /// The answer says over TCP too that there is more of it.
    Truncated,
    /// The server fails.
    Fail,
}

/// Names with their records; any other name does not exist.
pub type Zone = &'static [(&'static str, &'static [Data])];

const MX: u16 = 15;
const A: u16 = 1;
const AAAA: u16 = 28;

#[derive(Clone, Copy, PartialEq)]
enum Transport {
    Udp,
    Tcp,
}

/// Starts it. Its threads end with the process of the test.
pub fn serve(zone: Zone) -> SocketAddr {
    let (socket, listener) = std::iter::repeat_with(|| {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let listener = TcpListener::bind(socket.local_addr().unwrap()).ok()?;
        Some((socket, listener))
    })
    .find_map(|both| both)
    .unwrap();
    let addr = socket.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut buffer = [0; 1500];
        while let Ok((n, from)) = socket.recv_from(&mut buffer) {
            if let Some(reply) = answer(&buffer[..n], zone, Transport::Udp) {
                let _ = socket.send_to(&reply, from);
            }
        }
    });
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // Errors are the client's affair.
            let _ = answer_over_tcp(stream, zone);
        }
    });
    addr
}

fn answer_over_tcp(mut stream: TcpStream, zone: Zone) -> io::Result<()> {
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let mut query = vec![0; u16::from_be_bytes(length).into()];
    stream.read_exact(&mut query)?;
    let reply = answer(&query, zone, Transport::Tcp).unwrap_or_default();
    stream.write_all(&[&(reply.len() as u16).to_be_bytes()[..], &reply].concat())
}

fn encode(name: &str) -> Vec<u8> {
    let labels = name.split('.').filter(|label| !label.is_empty());
    let mut bytes: Vec<u8> = labels.flat_map(|l| [&[l.len() as u8], l.as_bytes()].concat()).collect();
    bytes.push(0);
    bytes
}

fn answer(query: &[u8], zone: Zone, transport: Transport) -> Option<Vec<u8>> {
    let (mut at, mut labels) = (12, Vec::new());
    loop {
        let length = usize::from(*query.get(at)?);
        at += 1;
        if length == 0 {
            break;
        }
        labels.push(String::from_utf8(query.get(at..at + length)?.to_vec()).ok()?);
        at += length;
    }
    let name = labels.join(".").to_ascii_lowercase();
    let kind = u16::from_be_bytes([*query.get(at)?, *query.get(at + 1)?]);
    let question = query.get(12..at + 4)?;
    let records = zone.iter().find(|(known, _)| *known == name).map(|(_, records)| *records);
    let mut answers = Vec::new();
    let mut code = if records.is_none() { 3 } else { 0 };
    let mut truncated = 0;
    for record in records.unwrap_or_default() {
        let (its_kind, data) = match record {
            Data::Mx(preference, host) => (MX, [&preference.to_be_bytes()[..], &encode(host)].concat()),
            Data::A(ip) => (A, ip.to_vec()),
            Data::Aaaa(ip) => (AAAA, ip.to_vec()),
            Data::Long if transport == Transport::Udp => {
                truncated = 2;
                break;
            }
            Data::Long => continue,
            Data::Truncated => {
                truncated = 2;
                continue;
            }
            Data::Fail => {
                code = 2;
                continue;
            }
        };
        if its_kind == kind {
            let mut answer = vec![0xc0, 12];
            answer.extend(kind.to_be_bytes());
            answer.extend([0, 1, 0, 0, 0, 60]);
            answer.extend((data.len() as u16).to_be_bytes());
            answer.extend(data);
            answers.push(answer);
        }
    }
    let mut reply = query[..2].to_vec();
    reply.extend([0x81 | truncated, 0x80 | code, 0, 1, 0, answers.len() as u8, 0, 0, 0, 0]);
    reply.extend(question);
    reply.extend(answers.concat());
    Some(reply)
}
