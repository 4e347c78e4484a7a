//! `crest serve`: everything between the flags and the first request.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use auth::authn::{
    Anonymous, Authenticator, BearerTokens, ClientCertificates, TokenAuthenticator, TokenFile,
};
use server::pki::{self, ClientRoots, Identity, ServingNames, kubeconfig};
use server::webhook::ServiceMap;
use server::{Config, Env, Security, Server, SystemEnv};
use store::Store;
use store::embedded::{self, EmbeddedStore};
use tokio::signal::unix::{SignalKind, signal};

use crate::flags::ServeFlags;
use crate::logging;

pub(crate) fn run(flags: ServeFlags) -> anyhow::Result<()> {
    logging::start(&flags.log_level, flags.log_format)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the async runtime")?;
    let result = runtime.block_on(serve(flags));
    runtime.shutdown_background(); // nothing is left that must not be lost
    result
}

async fn serve(flags: ServeFlags) -> anyhow::Result<()> {
    let stop = stop_signal()?;
    let data_dir = flags.data_dir.clone();
    make_private_dir(&data_dir)?;
    // Before anything is written: a busy port is the most common reason not to start.
    let bound = server::bind(SocketAddr::new(flags.bind_address, flags.secure_port))
        .await
        .map_err(|error| busy_port(&error))?;
    let store = open_store(&flags)?;
    let identity = Certificates::prepare(&flags)?;
    let config = Config {
        request_timeout: flags.request_timeout,
        max_requests_inflight: flags.max_requests_inflight,
        max_mutating_requests_inflight: flags.max_mutating_requests_inflight,
        shutdown_delay: flags.shutdown_delay_duration,
        shutdown_grace: flags.shutdown_grace,
        event_ttl: flags.event_ttl,
        replica: flags.etcd.are_given().then(replica_identity),
        services: services(&flags)?,
        ..Config::default()
    };
    let authenticator = authenticator(&flags)?;
    let server = Server::new(store.clone(), &config, authenticator, Arc::new(SystemEnv))
        .await
        .context("cannot read the store")?;
    let kubeconfig_path = flags.kubeconfig_out.clone().unwrap_or_else(|| data_dir.join("admin.kubeconfig"));
    identity.write_kubeconfig(&kubeconfig_path, bound.address)?;
    let security = identity.security;
    let started = |address| announce(address, &kubeconfig_path);
    bound.serve(server, &config, security, started, stop).await.context("cannot serve")?;
    store.close().await.context("the store could not be closed in an orderly way")?;
    tracing::info!("stopped");
    Ok(())
}

/// Who this replica is among others on the same etcd: where it runs, and that it is not the one before.
fn replica_identity() -> String {
    let host = pki::names::host_name().unwrap_or_else(|| "crest".to_owned());
    format!("{host}_{}", SystemEnv.uid())
}

fn busy_port(error: &server::ListenError) -> anyhow::Error {
    let hint = match error {
        server::ListenError::Bind { source, .. } if source.kind() == std::io::ErrorKind::AddrInUse => {
            "; another program uses this port: choose one with --secure-port, or 0 for any"
        }
        _ => "",
    };
    anyhow::anyhow!("{error}{hint}")
}

/// Makes the data directory, which only its owner may enter.
pub(crate) fn make_private_dir(dir: &Path) -> anyhow::Result<()> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.with_context(|| format!("cannot use the data directory '{}'", dir.display()))
}

fn open_store(flags: &ServeFlags) -> anyhow::Result<Arc<dyn Store>> {
    if flags.etcd.are_given() {
        let interval = flags.etcd_compaction_interval;
        return flags.etcd.open((!interval.is_zero()).then_some(interval));
    }
    let dir = flags.data_dir.join("store");
    let options =
        embedded::Options { keep_history: flags.etcd_compaction_interval, ..embedded::Options::default() };
    let store = EmbeddedStore::open(&dir, options)?;
    Ok(Arc::new(store))
}

/// Where the services are that the operator names.
fn services(flags: &ServeFlags) -> anyhow::Result<ServiceMap> {
    let mut services = ServiceMap::default();
    for entry in &flags.service_resolver {
        services.add(entry).context("--service-resolver")?;
    }
    Ok(services)
}

fn authenticator(flags: &ServeFlags) -> anyhow::Result<Authenticator> {
    let mut tokens: Vec<Box<dyn TokenAuthenticator>> = Vec::new();
    if let Some(path) = &flags.token_auth_file {
        let file = TokenFile::load(path).context("--token-auth-file")?;
        for warning in &file.warnings {
            tracing::warn!("{warning}");
        }
        tokens.push(Box::new(file));
    }
    let anonymous = flags.anonymous_auth.then(Anonymous::everywhere);
    Ok(Authenticator::new(vec![Box::new(ClientCertificates), Box::new(BearerTokens(tokens))], anonymous))
}

/// What the server shows, what it believes, and what its administrator gets.
struct Certificates {
    security: Security,
    admin: Identity,
    /// What clients know the server by.
    authority_pem: String,
}

impl Certificates {
    fn prepare(flags: &ServeFlags) -> anyhow::Result<Self> {
        let folder = flags.cert_dir.clone().unwrap_or_else(|| flags.data_dir.join("pki"));
        let mut names =
            ServingNames::new(flags.bind_address, pki::names::host_name().as_deref(), &outward(flags));
        if let Some(host) = &flags.external_hostname {
            let named = names.and(host);
            names = named.with_context(|| {
                format!("--external-hostname: '{host}' is neither a host name nor an IP address")
            })?;
        }
        let own = flags.tls_cert_file.is_none().then_some(&names);
        let pki = pki::ensure(&folder, own, jiff::Timestamp::now())?;
        for change in &pki.changes {
            tracing::info!("{change}");
        }
        let (serving, authority_pem) = match (&flags.tls_cert_file, &flags.tls_private_key_file, pki.serving)
        {
            (Some(certificate), Some(key), _) => {
                let pem = fs::read_to_string(certificate)
                    .with_context(|| format!("cannot read '{}'", certificate.display()))?;
                (Identity::load(certificate, key)?, pem)
            }
            (_, _, Some(serving)) => (serving, pki.authority_pem),
            _ => bail!(
                "no serving certificate: give both --tls-cert-file and --tls-private-key-file, or neither"
            ),
        };
        let mut roots = ClientRoots::from_certificates(std::slice::from_ref(&pki.authority))
            .context("the certificate authority cannot be used")?;
        if let Some(path) = &flags.client_ca_file {
            roots = roots.and(&ClientRoots::load(path).context("--client-ca-file")?);
        }
        let tls = pki::tls::server_config(&serving, &roots)?;
        Ok(Certificates { security: Security { tls, client_roots: roots }, admin: pki.admin, authority_pem })
    }

    fn write_kubeconfig(&self, path: &Path, address: SocketAddr) -> anyhow::Result<()> {
        let url = kubeconfig::server_url(address);
        let content =
            kubeconfig::Kubeconfig { server: &url, authority_pem: &self.authority_pem, user: &self.admin };
        kubeconfig::write(path, &content).context("cannot write the kubeconfig")
    }
}

/// An address that others reach us by, when we listen on all of them.
fn outward(flags: &ServeFlags) -> Vec<std::net::IpAddr> {
    if flags.bind_address.is_unspecified() {
        pki::names::outward_address().into_iter().collect()
    } else {
        Vec::new()
    }
}

/// Says what a newcomer can do now.
#[expect(clippy::print_stdout, reason = "the message is for people and scripts, not for the log")]
fn announce(address: SocketAddr, kubeconfig: &Path) {
    let url = kubeconfig::server_url(address);
    println!(
        "Crest serves {url}\n\nTry:\n  export KUBECONFIG={}\n  kubectl get namespaces\n  kubectl api-resources\n",
        kubeconfig.display()
    );
}

/// Resolves when somebody asks the process to end.
fn stop_signal() -> anyhow::Result<impl Future<Output = ()> + Send> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot watch for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot watch for SIGINT")?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping: not ready any more, requests under way may finish");
    })
}
