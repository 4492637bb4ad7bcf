//! `http` from the outside: bytes in, replies out.

mod content;
mod files;
mod properties;
mod requests;
mod site_options;
mod support;
