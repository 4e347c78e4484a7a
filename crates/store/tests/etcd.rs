//! Holds the backend on etcd to the contract of the store, with every version of etcd that the machine has.

use std::{sync::Arc, time::Duration};

use crest_store::{
    BoxFuture, Store,
    conformance::{self, Backend, Factory},
    etcd::{Access, EtcdStore, Options},
};
use testkit::{Etcd, EtcdSetup, EtcdVersion};

struct Version(EtcdVersion);

struct EtcdBackend {
    etcd: Etcd,
    store: Arc<EtcdStore>,
}

fn open(etcd: &Etcd) -> Arc<EtcdStore> {
    let access = Access { endpoints: etcd.endpoints(), ..Access::default() };
    let options = Options { access, ..Options::default() };
    Arc::new(EtcdStore::new(options).expect("the endpoints are fine"))
}

impl Factory for Version {
    fn make(&self) -> BoxFuture<'_, Box<dyn Backend>> {
        let setup = EtcdSetup::new(self.0).expect("looked for before");
        Box::pin(async {
            // Quick elections: every case starts an etcd of its own.
            let setup = setup.with("--heartbeat-interval", "20").with("--election-timeout", "200");
            let etcd = setup.start();
            let store = open(&etcd);
            Box::new(EtcdBackend { etcd, store }) as Box<dyn Backend>
        })
    }
}

impl Backend for EtcdBackend {
    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    /// etcd has a clock of its own.
    fn advance(&mut self, by: Duration) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(by))
    }

    fn reopen(&mut self) -> BoxFuture<'_, bool> {
        Box::pin(async {
            self.store.close().await.expect("it closes");
            self.etcd.restart(0);
            self.store = open(&self.etcd);
            true
        })
    }
}

async fn check(version: EtcdVersion) {
    if version.program().is_some() {
        conformance::all(&Version(version)).await;
    }
}

#[tokio::test]
async fn an_old_etcd_keeps_the_contract() {
    check(EtcdVersion::Old).await;
}

#[tokio::test]
async fn the_usual_etcd_keeps_the_contract() {
    check(EtcdVersion::Usual).await;
}

#[tokio::test]
async fn the_newest_etcd_keeps_the_contract() {
    check(EtcdVersion::New).await;
}
