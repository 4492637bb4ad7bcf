//! The client side of HTTP/2 (RFC 9113), for any server: with prior knowledge over TCP, or over TLS.
//!
//! Frames are read and written here, since this is the hot loop of the load: a frame is nine bytes and a payload, and a reply
//! with a small file is two frames. HPACK (RFC 7541) is `httlib-hpack`'s. Most requests do not need it: requests are
//! [encoded once](site), before the run, and a header block that was decoded before and does not touch the table of its
//! connection is [recognised](headers) by its bytes. Other decoders were rejected: `hpack` and `hpack_codec` are abandoned and
//! panic on short input, `loona-hpack` builds the Huffman table for every string, `zerodds-hpack` searches it for every
//! character and accepts only UTF-8. `httlib-hpack` panics on short input too, so the [shape](shape) of a block is checked
//! first. The decoder of `h2` is private, and its connections need asynchronous sockets.
//!
//! A connection waits for the server's SETTINGS before its first request, so the server's limit of streams is never exceeded.
//! RFC 9113 section 3.4 would allow to send at once. The wait takes one round trip per connection, and delays only requests
//! that wait for a connection.
//!
//! Receive windows have the maximal size and are extended long before they close, so the server never waits for this side. If
//! the body of a request has to wait for the server's window, the wait is counted and timed.
//!
//! Cookies, redirects, sessions and pages are the work of a [driver](user), which other connections do not have.

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
mod user;
mod wording;

pub(super) use build::build;
