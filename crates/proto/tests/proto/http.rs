//! `http` from the outside: bytes in, replies out.

mod access_log;
mod content;
mod files;
mod properties;
mod requests;
mod site_options;
mod support;
