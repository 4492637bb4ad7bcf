//! A mail host that follows a script, and records what it received.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// What a host does when it is spoken to.
#[derive(Clone)]
pub struct Script {
    /// It sends nothing at all.
    pub mute: bool,
    /// Its greeting.
    pub banner: &'static str,
    /// What it offers beside its name.
    pub offers: &'static [&'static str],
    /// The reply to a recipient that is named for the n-th time, from 1; an empty one closes the connection instead.
    pub rcpt: fn(&str, u32) -> &'static str,
    /// The reply to the n-th message, from 1; an empty one closes the connection instead.
    pub message: fn(u32) -> &'static str,
    /// Closes this many connections where they name their first recipient.
    pub closes: u32,
    /// What STARTTLS leads to.
    pub tls: Option<Tls>,
    /// TLS begins with the connection, and STARTTLS is not offered.
    pub implicit_tls: bool,
    /// Nothing is taken from a client that has not logged in as `user` with the password `pencil`.
    pub login: bool,
}

#[derive(Clone)]
pub enum Tls {
    Works(Arc<ServerConfig>),
    /// The host agrees and then talks nonsense.
    Broken,
}

impl Default for Script {
    fn default() -> Script {
        Script {
            mute: false,
            banner: "220 mx.test\r\n",
            offers: &["PIPELINING", "8BITMIME", "ENHANCEDSTATUSCODES"],
            rcpt: |_, _| "250 2.1.5 ok\r\n",
            message: |_| "250 2.0.0 taken\r\n",
            closes: 0,
            tls: None,
            implicit_tls: false,
            login: false,
        }
    }
}

/// What a host has seen.
#[derive(Default)]
pub struct Seen {
    pub connections: u32,
    /// Commands that came over TLS.
    pub private_commands: u32,
    /// Lines of AUTH and its responses, and how many of them came without TLS.
    pub auth: Vec<String>,
    pub auth_in_clear: u32,
    /// Messages that were begun without.
    pub begun_in_clear: u32,
    /// How often each recipient was named.
    pub named: HashMap<String, u32>,
    /// How often a message for each recipient was taken. It counts before the client gets the reply.
    pub taken: HashMap<String, u32>,
    pub messages: Vec<Vec<u8>>,
    pub resets: u32,
    pub quits: u32,
    closed: u32,
}

/// A host. Its threads end with the process of the test.
pub struct Host {
    pub addr: SocketAddr,
    seen: Arc<Mutex<Seen>>,
}

impl Host {
    pub fn new(script: Script) -> Host {
        Host::at("127.0.0.1:0".parse().unwrap(), script)
    }

    pub fn at(addr: SocketAddr, script: Script) -> Host {
        let listener = TcpListener::bind(addr).unwrap();
        let addr = listener.local_addr().unwrap();
        let seen = Arc::<Mutex<Seen>>::default();
        let shared = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (script, seen) = (script.clone(), Arc::clone(&shared));
                std::thread::spawn(move || {
                    seen.lock().unwrap().connections += 1;
                    // Errors are the client's affair: it may be killed at any moment.
                    let _ = serve(stream, &script, &seen);
                });
            }
        });
        Host { addr, seen }
    }

    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }

    pub fn name(&self) -> String {
        self.addr.to_string()
    }
}

fn serve(mut stream: TcpStream, script: &Script, seen: &Mutex<Seen>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    if script.mute {
        return stream.read(&mut [0; 64]).map(drop);
    }
    if let (true, Some(Tls::Works(config))) = (script.implicit_tls, &script.tls) {
        let connection = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(connection, stream);
        stream.write_all(script.banner.as_bytes())?;
        stream.flush()?;
        return converse(&mut stream, script, seen, true).map(drop);
    }
    stream.write_all(script.banner.as_bytes())?;
    let Some(tls) = converse(&mut stream, script, seen, false)? else { return Ok(()) };
    match tls {
        Tls::Broken => {
            stream.write_all(b"this is no TLS\r\n").and_then(|()| stream.read(&mut [0; 64]).map(drop))
        }
        Tls::Works(config) => {
            let connection = ServerConnection::new(config).map_err(io::Error::other)?;
            converse(&mut StreamOwned::new(connection, stream), script, seen, true).map(drop)
        }
    }
}

/// Talks until the end, or until TLS is to begin.
fn converse<S: Read + Write>(
    stream: &mut S,
    script: &Script,
    seen: &Mutex<Seen>,
    private: bool,
) -> io::Result<Option<Tls>> {
    let mut reader = BufReader::new(stream);
    let mut recipients: Vec<String> = Vec::new();
    let mut line = Vec::new();
    let mut logged_in = !script.login;
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        let verb = text.split([' ', ':']).next().unwrap_or_default().to_ascii_uppercase();
        seen.lock().unwrap().private_commands += u32::from(private);
        let reply = match verb.as_str() {
            "EHLO" => {
                let mut lines = vec!["mx.test"];
                lines.extend(script.offers);
                lines.extend((script.tls.is_some() && !private).then_some("STARTTLS"));
                let last = lines.pop().unwrap();
                lines.iter().map(|l| format!("250-{l}\r\n")).collect::<String>() + &format!("250 {last}\r\n")
            }
            "AUTH" => {
                let right = authenticate(&text, &mut reader, seen, private)?;
                logged_in |= right;
                if right { "235 2.7.0 welcome\r\n" } else { "535 5.7.8 wrong user or password\r\n" }.into()
            }
            "MAIL" | "RCPT" | "DATA" if !logged_in => "530 5.7.0 log in first\r\n".into(),
            "MAIL" => {
                recipients.clear();
                seen.lock().unwrap().begun_in_clear += u32::from(!private);
                "250 2.1.0 ok\r\n".into()
            }
            "RCPT" => {
                let address = text.split(['<', '>']).nth(1).unwrap_or_default().to_owned();
                let mut seen = seen.lock().unwrap();
                if seen.closed < script.closes {
                    seen.closed += 1;
                    return Ok(None);
                }
                let times = seen.named.entry(address.clone()).or_default();
                *times += 1;
                let reply = (script.rcpt)(&address, *times);
                if reply.is_empty() {
                    return Ok(None);
                }
                if reply.starts_with('2') {
                    recipients.push(address);
                }
                reply.into()
            }
            "DATA" if recipients.is_empty() => "554 5.5.1 no recipients\r\n".into(),
            "DATA" => {
                reader.get_mut().write_all(b"354 go\r\n")?;
                let mut message = Vec::new();
                while !message.ends_with(b"\r\n.\r\n") {
                    if reader.read_until(b'\n', &mut message)? == 0 {
                        return Ok(None);
                    }
                }
                let mut seen = seen.lock().unwrap();
                seen.messages.push(message);
                let reply = (script.message)(seen.messages.len() as u32);
                if reply.is_empty() {
                    return Ok(None);
                }
                if reply.starts_with('2') {
                    for recipient in recipients.drain(..) {
                        *seen.taken.entry(recipient).or_default() += 1;
                    }
                }
                reply.into()
            }
            "RSET" => {
                recipients.clear();
                seen.lock().unwrap().resets += 1;
                "250 2.0.0 ok\r\n".into()
            }
            "QUIT" => {
                seen.lock().unwrap().quits += 1;
                reader.get_mut().write_all(b"221 2.0.0 bye\r\n")?;
                return Ok(None);
            }
            "STARTTLS" if script.tls.is_some() => {
                reader.get_mut().write_all(b"220 go\r\n")?;
                return Ok(script.tls.clone());
            }
            _ => "500 5.5.2 what\r\n".to_owned(),
        };
        reader.get_mut().write_all(reply.as_bytes())?;
        reader.get_mut().flush()?;
    }
}

/// Whether a client logs in rightly, by AUTH PLAIN with or without its initial response, or AUTH LOGIN.
fn authenticate<S: Read + Write>(
    command: &str,
    reader: &mut BufReader<&mut S>,
    seen: &Mutex<Seen>,
    private: bool,
) -> io::Result<bool> {
    let mut lines = vec![command.to_owned()];
    let mut ask = |challenge: &str, reader: &mut BufReader<&mut S>| {
        reader.get_mut().write_all(format!("334 {challenge}\r\n").as_bytes())?;
        reader.get_mut().flush()?;
        let mut line = String::new();
        reader.read_line(&mut line)?;
        lines.push(line.trim_end().to_owned());
        io::Result::Ok(line.trim_end().to_owned())
    };
    // `user` and `pencil` in base64, and both with the NULs of PLAIN.
    let right = match command.split(' ').collect::<Vec<_>>()[..] {
        ["AUTH", "PLAIN", response] => response == "AHVzZXIAcGVuY2ls",
        ["AUTH", "PLAIN"] => ask("", reader)? == "AHVzZXIAcGVuY2ls",
        // `Username:` and `Password:`.
        ["AUTH", "LOGIN"] => {
            let user = ask("VXNlcm5hbWU6", reader)?;
            (user, ask("UGFzc3dvcmQ6", reader)?) == ("dXNlcg==".into(), "cGVuY2ls".into())
        }
        _ => false,
    };
    let mut seen = seen.lock().unwrap();
    seen.auth_in_clear += if private { 0 } else { lines.len() as u32 };
    seen.auth.append(&mut lines);
    Ok(right)
}

/// TLS with a certificate that nobody has signed.
pub fn self_signed() -> Tls {
    certified("localhost").0
}

/// TLS with a certificate for a name, and the certificate in PEM: who trusts it as an authority trusts the host.
pub fn certified(name: &str) -> (Tls, String) {
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(vec![name.into()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    (Tls::Works(Arc::new(config)), cert.pem())
}
