//! Several replicas on one etcd, each behind a network of its own.

use testkit::{Client, Crest, Etcd, EtcdSetup, EtcdVersion, Link, Proxy, Setup};

use super::run::Run;

const CREST: &str = env!("CARGO_BIN_EXE_crest");

pub(crate) struct Replicas {
    // Before the etcd: what they were about to say is not worth waiting for.
    replicas: Vec<Replica>,
    pub(crate) etcd: Etcd,
}

struct Replica {
    crest: Option<Crest>,
    /// One before each member.
    links: Vec<Proxy>,
}

impl Replicas {
    /// Starts an etcd and replicas on it. `None` when the machine has no etcd.
    ///
    /// Versions take turns with the seeds; one that the machine lacks is replaced by the usual one.
    pub(crate) async fn start(
        versions: EtcdVersion,
        seed: u64,
        members: u8,
        replicas: usize,
    ) -> Option<Self> {
        let first = EtcdVersion::ALL.iter().position(|version| *version == versions).unwrap_or_default();
        let turn = usize::try_from(seed.saturating_sub(1) % 3).unwrap_or_default();
        let version = EtcdVersion::ALL[(first + turn) % EtcdVersion::ALL.len()];
        let setup = EtcdSetup::new(version).or_else(|| EtcdSetup::new(EtcdVersion::Usual))?;
        let mut cluster = Replicas { replicas: Vec::new(), etcd: setup.members(members).start() };
        for _ in 0..replicas {
            let replica = cluster.replica().await;
            cluster.replicas.push(replica);
        }
        Some(cluster)
    }

    async fn replica(&self) -> Replica {
        let mut links = Vec::new();
        for member in 0..self.etcd.members() {
            links.push(Proxy::to(self.etcd.address(member)).await);
        }
        let servers: Vec<String> = links.iter().map(|link| self.etcd.url(link.address)).collect();
        // History is given up by tests, not by time.
        let setup = Setup::new(CREST)
            .with("--etcd-servers", servers.join(","))
            .with("--etcd-compaction-interval", "0");
        Replica { crest: Some(setup.start()), links }
    }

    pub(crate) fn crest(&self, replica: usize) -> &Crest {
        self.replicas[replica].crest.as_ref().expect("it runs")
    }

    pub(crate) fn clients(&self) -> Vec<Client> {
        (0..self.replicas.len()).map(|replica| self.crest(replica).client()).collect()
    }

    /// Changes the network between a replica and all members.
    pub(crate) fn link(&self, replica: usize, link: Link) {
        for proxy in &self.replicas[replica].links {
            proxy.set(link);
        }
    }

    /// Kills a replica without warning and starts it again.
    pub(crate) async fn crash(&mut self, replica: usize, run: &Run) {
        let crest = self.replicas[replica].crest.take().expect("it runs").crash().await;
        run.fleet.replace(replica, crest.client());
        self.replicas[replica].crest = Some(crest);
    }

    /// Kills a replica without warning, for good.
    pub(crate) fn kill(&mut self, replica: usize) {
        self.replicas[replica].crest = None;
    }

    /// Ends a replica in order, for good.
    pub(crate) async fn stop(&mut self, replica: usize) {
        let mut crest = self.replicas[replica].crest.take().expect("it runs");
        crest.terminate();
        let ended = crest.ended().await;
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
}
