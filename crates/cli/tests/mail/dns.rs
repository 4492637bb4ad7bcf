//! A DNS server with a few names.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

/// One record, or what there is instead.
#[derive(Clone, Copy)]
pub enum Data {
    Mx(u16, &'static str),
    A([u8; 4]),
    /// The server fails.
    Fail,
}

/// Names with their records; any other name does not exist.
pub type Zone = &'static [(&'static str, &'static [Data])];

const MX: u16 = 15;
const A: u16 = 1;

/// Starts it. Its thread ends with the process of the test.
pub fn serve(zone: Zone) -> SocketAddr {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let addr = socket.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut buffer = [0; 1500];
        while let Ok((n, from)) = socket.recv_from(&mut buffer) {
            if let Some(reply) = answer(&buffer[..n], zone) {
                let _ = socket.send_to(&reply, from);
            }
        }
    });
    addr
}

fn encode(name: &str) -> Vec<u8> {
    let labels = name.split('.').filter(|label| !label.is_empty());
    let mut bytes: Vec<u8> = labels.flat_map(|l| [&[l.len() as u8], l.as_bytes()].concat()).collect();
    bytes.push(0);
    bytes
}

fn answer(query: &[u8], zone: Zone) -> Option<Vec<u8>> {
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
    for record in records.unwrap_or_default() {
        let (its_kind, data) = match record {
            Data::Mx(preference, host) => (MX, [&preference.to_be_bytes()[..], &encode(host)].concat()),
            Data::A(ip) => (A, ip.to_vec()),
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
    reply.extend([0x81, 0x80 | code, 0, 1, 0, answers.len() as u8, 0, 0, 0, 0]);
    reply.extend(question);
    reply.extend(answers.concat());
    Some(reply)
}
