//! The client's side of HTTP/2 (RFC 9113), for any server: with prior knowledge over TCP, or behind TLS.
//!
//! Frames are read and written here, for this is the loop of the load: a frame is nine bytes and a payload, and a reply
//! of a small file is two of them. HPACK (RFC 7541) is `httlib-hpack`'s, encoder and decoder. It is not on the path of
//! most requests: what is sent is [encoded once](site), before the run, and a block of headers that was decoded before
//! and does not touch the table of its connection is [recognised](headers) by its bytes. Three other decoders were
//! looked at: `hpack` and `hpack_codec` are abandoned and panic on short input, `loona-hpack` builds the table of the
//! Huffman code again for every string, `zerodds-hpack` looks through it for every character and takes no text but UTF-8.
//! `httlib-hpack` panics on short input as well, so that the [shape](shape) of a block is checked before it sees it. The
//! crate `h2` keeps its decoder to itself, and its connections are bound to asynchronous sockets.
//!
//! A connection waits for the server's SETTINGS before its first request, so that the number of streams that the server
//! allows is never exceeded, not even at first. RFC 9113 section 3.4 would allow to send at once; the wait is one round
//! trip for each connection, and the time of no request but those that wait for their connection.
//!
//! Windows for what the server sends are as large as the protocol has them and opened again long before they close, so
//! that it never waits for this end. When a request's body has to wait for the server's window, that is counted with the
//! time that it took.
//!
//! Cookies, redirects, sessions and pages are an [agent](agent)'s, which connections without them do not have.

mod agent;
mod block;
mod build;
mod codes;
mod conn;
mod counts;
mod frame;
mod headers;
mod input;
mod settings;
mod shape;
mod site;
mod stream;
#[cfg(test)]
mod tests;
mod upload;
mod wording;

pub(super) use build::build;
