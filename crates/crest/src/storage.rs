//! Where the data are: in the data directory, or in an etcd that several replicas share.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Args;
use store::Store;
use store::etcd::{Access, EtcdStore, Keyspace, Options, User};

/// How to reach an etcd; without it the embedded store is used.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "etcd")]
#[expect(clippy::struct_field_names, reason = "they are named after kube-apiserver's options")]
pub(crate) struct EtcdFlags {
    /// Keep everything in this etcd cluster: the URLs of its members, separated by commas
    #[arg(long, value_name = "URLS", value_delimiter = ',')]
    pub(crate) etcd_servers: Vec<String>,

    /// What all keys in etcd begin with
    #[arg(long, value_name = "PREFIX", default_value = "/registry", requires = "etcd_servers")]
    pub(crate) etcd_prefix: String,

    /// Believe members of etcd whose certificate one of these authorities signed
    #[arg(long, value_name = "FILE", requires = "etcd_servers")]
    pub(crate) etcd_cafile: Option<PathBuf>,

    /// The client certificate to show to etcd
    #[arg(long, value_name = "FILE", requires = "etcd_keyfile")]
    pub(crate) etcd_certfile: Option<PathBuf>,

    /// The private key of --etcd-certfile
    #[arg(long, value_name = "FILE", requires = "etcd_certfile")]
    pub(crate) etcd_keyfile: Option<PathBuf>,

    /// The user to be in etcd, where its own users are in force
    #[arg(long, value_name = "NAME", requires = "etcd_password_file")]
    pub(crate) etcd_username: Option<String>,

    /// A file that holds the password of --etcd-username
    #[arg(long, value_name = "FILE", requires = "etcd_username")]
    pub(crate) etcd_password_file: Option<PathBuf>,
}

impl EtcdFlags {
    /// Whether the data are in etcd at all.
    pub(crate) fn are_given(&self) -> bool {
        !self.etcd_servers.is_empty()
    }

    /// Opens the store on etcd. A cluster that is down is no error: requests tell, and it may come back.
    pub(crate) fn open(&self, compaction_interval: Option<Duration>) -> anyhow::Result<Arc<dyn Store>> {
        Ok(Arc::new(self.open_etcd(compaction_interval)?))
    }

    pub(crate) fn open_etcd(&self, compaction_interval: Option<Duration>) -> anyhow::Result<EtcdStore> {
        let keyspace = Keyspace::mapped(server::KEY_ROOT, self.root()?);
        let options = Options { access: self.access()?, keyspace, compaction_interval };
        EtcdStore::new(options).context("etcd cannot be used")
    }

    /// The prefix with one slash on each side, as the reference takes it.
    fn root(&self) -> anyhow::Result<String> {
        let bare = self.etcd_prefix.trim_matches('/');
        ensure!(!bare.is_empty(), "--etcd-prefix must not be empty: etcd may hold others' keys");
        Ok(format!("/{bare}/"))
    }

    fn access(&self) -> anyhow::Result<Access> {
        let user = match (&self.etcd_username, &self.etcd_password_file) {
            (Some(name), Some(path)) => {
                let password = std::fs::read_to_string(path)
                    .with_context(|| format!("--etcd-password-file: cannot read '{}'", path.display()))?;
                // Editors end files with a line break, which is no part of the secret.
                let password = password.trim_end_matches(['\r', '\n']).to_owned();
                Some(User { name: name.clone(), password })
            }
            _ => None,
        };
        Ok(Access {
            endpoints: self.etcd_servers.clone(),
            ca_file: self.etcd_cafile.clone(),
            cert_file: self.etcd_certfile.clone(),
            key_file: self.etcd_keyfile.clone(),
            user,
        })
    }
}
