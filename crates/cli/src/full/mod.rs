//! What a build with the feature `full` has besides: mail and its names, the brokerage, the bus, other kernels, and pages. Here is how they are
//! carried out; their options are those of every build.

mod agent;
mod bus;
mod complaint;
mod dns;
mod guests;
mod kernel;
mod kernel_store;
mod mail;
mod on_bus;
mod trade;
mod web;
