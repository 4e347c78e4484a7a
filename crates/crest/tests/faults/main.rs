//! Faults under load, with everything that clients did and were told held against what really happened.
//!
//! Clients create, update, delete, get and list the same few objects through every replica while processes are killed
//! and paused, networks cut, disks filled, histories compacted and clocks set. What they noted must be what one store
//! that never forgets could have told them ([`testkit::history`]); failures must be honest; when the fault is over, all
//! goes on without help.
//!
//! Each test runs once, for some seconds. `cargo xtask faults --minutes N` repeats them with other seeds; a seed that
//! failed is repeated with `CREST_FAULTS_SEED`.

#![recursion_limit = "256"] // the futures of a server in this process are nested deeply

mod clock;
mod embedded;
mod etcd;
mod fleet;
mod followers;
mod leader;
mod load;
mod objects;
mod replicas;
mod run;
