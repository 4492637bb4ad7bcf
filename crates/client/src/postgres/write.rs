//! Writing messages (PostgreSQL documentation, "Message Formats").

/// Appends a message; `write` appends its content.
pub(super) fn message(out: &mut Vec<u8>, kind: u8, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    counted(out, write);
}

/// Appends what `write` appends, behind its length, which includes the length field.
fn counted(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    let length = (out.len() - at) as u32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

pub(super) fn string(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

/// The first message of a connection.
pub(super) fn startup(out: &mut Vec<u8>, user: &str, database: &str) {
    counted(out, |out| {
        out.extend_from_slice(&[0, 3, 0, 0]);
        for text in
            ["user", user, "database", database, "application_name", "pitot", "client_encoding", "UTF8"]
        {
            string(out, text);
        }
        out.push(0);
    });
}

/// `Parse`; the server infers the types of parameters.
pub(super) fn parse(out: &mut Vec<u8>, statement: &str, query: &str) {
    message(out, b'P', |out| {
        string(out, statement);
        string(out, query);
        out.extend_from_slice(&[0, 0]);
    });
}

/// `Bind` to the unnamed portal; `write` appends each parameter. Parameters and results are texts.
pub(super) fn bind<T>(
    out: &mut Vec<u8>,
    statement: &str,
    parameters: &[T],
    mut write: impl FnMut(&T, &mut Vec<u8>),
) {
    message(out, b'B', |out| {
        out.push(0);
        string(out, statement);
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&(parameters.len() as u16).to_be_bytes());
        for parameter in parameters {
            let at = out.len();
            out.extend_from_slice(&[0; 4]);
            write(parameter, out);
            let length = (out.len() - at - 4) as u32;
            out[at..at + 4].copy_from_slice(&length.to_be_bytes());
        }
        out.extend_from_slice(&[0, 0]);
    });
}

/// `Describe` and `Execute` of the unnamed portal for all rows, and `Sync`.
pub(super) fn run(out: &mut Vec<u8>) {
    message(out, b'D', |out| out.extend_from_slice(b"P\0"));
    message(out, b'E', |out| out.extend_from_slice(&[0; 5]));
    sync(out);
}

pub(super) fn sync(out: &mut Vec<u8>) {
    message(out, b'S', |_| {});
}
