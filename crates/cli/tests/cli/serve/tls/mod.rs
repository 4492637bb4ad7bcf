//! TLS over every model and mechanism: real clients, sessions, clients that misbehave, and the end.

mod client;
mod clients;
mod ends;
mod mail;
mod sessions;
