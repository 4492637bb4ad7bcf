//! `memcache`, through its core alone: what it answers, how it forgets, and that a model agrees with it.

mod against_memcached;
mod commands;
mod cuts;
mod forgetting;
mod soak;
mod support;
mod threads;
