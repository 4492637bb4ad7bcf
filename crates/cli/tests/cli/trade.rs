//! `pitot serve trade` and `pitot load trade://`, end to end: pages, checks of meaning, and what is left after a kill.

mod client;
mod faults;
mod kill;
mod killed_under_load;
mod pages;
mod refusals;
mod scenario;
mod server;
