//! For tests only: the real `crest` in a process of its own, and clients to speak to it.
//!
//! [`Crest`] starts the program on a free port with a folder of its own, waits until it says that it serves,
//! and leaves nothing behind: no process, no file. [`Client`] speaks to it over HTTP/2 or HTTP/1.1 and shows
//! what was really on the wire; [`Tool`] runs kubectl and helm against it. [`Etcd`] is a real cluster of one or
//! three members that can be killed and paused, [`Proxy`] a network before it that can be cut,
//! [`Webhook`] a webhook for it to call.
//!
//! Nothing here sleeps to wait for a state of Crest. What has not happened within [`PATIENCE`] fails the test.

mod client;
mod crest;
mod dice;
mod etcd;
pub mod history;
mod process;
mod proxy;
mod steady;
mod tool;
mod watch;
mod webhook;

use std::future::Future;
use std::time::Duration;

pub use client::{Answer, Client, Http, JSON_PATCH, MERGE_PATCH, Request, Unanswered};
pub use crest::{Credentials, Crest, Setup, built_crest};
pub use dice::Dice;
pub use etcd::{Etcd, EtcdSetup, EtcdVersion};
pub use process::Ended;
pub use proxy::{Link, Proxy};
pub use steady::steady;
pub use tool::{Ran, Tool};
pub use watch::{Event, Wait, Watch, revision};
pub use webhook::{Asked, Reply, Webhook};

/// Bound: how long a test waits for something that is about to happen. Generous: build machines are busy.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Waits for what must happen, but not for ever.
pub async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    let outcome = tokio::time::timeout(PATIENCE, future).await;
    outcome.unwrap_or_else(|_| panic!("{what}: nothing came within {PATIENCE:?}"))
}

/// The definition of the CRD guide, without comments.
pub const CRONTAB_DEFINITION: &str = r"apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: crontabs.stable.example.com
spec:
  group: stable.example.com
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                cronSpec:
                  type: string
                image:
                  type: string
                replicas:
                  type: integer
  scope: Namespaced
  names:
    plural: crontabs
    singular: crontab
    kind: CronTab
    shortNames:
    - ct
";

/// Where the objects of [`CRONTAB_DEFINITION`] are, in the namespace `default`.
pub const CRONTABS: &str = "/apis/stable.example.com/v1/namespaces/default/crontabs";
