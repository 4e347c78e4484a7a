//! Crashes: nothing acknowledged is lost, nothing else is invented, damage is refused.
//!
//! * [`kill`]: a process is killed under load, again and again, on the same data;
//! * [`log`]: the log is cut at and between its sync points, and damaged byte by byte;
//! * [`checkpoint`]: writes to the database that were never synced are lost in part;
//! * [`full`]: the disk is full, or fails.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod checkpoint;
mod child;
mod full;
mod image;
mod kill;
mod log;
