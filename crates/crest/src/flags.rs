//! The command line. Options carry kube-apiserver's names and meaning wherever it has one.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use server::webhook::ServiceMap;

use crate::storage::EtcdFlags;

/// A Kubernetes API server for custom resources: one binary, no nodes, no pods.
#[derive(Debug, Parser)]
#[command(name = "crest", version, max_term_width = 100)]
#[command(
    after_help = "Start with:\n  crest serve\n  KUBECONFIG=crest-data/admin.kubeconfig kubectl get namespaces"
)]
pub(crate) struct Flags {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve the API, on the embedded store or on etcd.
    Serve(Box<ServeFlags>),
    /// Write everything to one file, while the server runs or not.
    Backup(BackupFlags),
    /// Make a new data directory from such a file, or fill an empty etcd.
    Restore(RestoreFlags),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  crest backup --data-dir crest-data crest.backup
  crest backup --etcd-servers http://127.0.0.1:2379 crest.backup")]
pub(crate) struct BackupFlags {
    /// The data directory of the server
    #[arg(long, value_name = "DIR", default_value = "crest-data")]
    pub(crate) data_dir: PathBuf,

    /// The kubeconfig that a running server is asked with [default: admin.kubeconfig in the data directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) etcd: EtcdFlags,

    /// The file to write; it appears only when it is whole
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  crest restore --data-dir other-data crest.backup
  crest serve --data-dir other-data

  crest restore --etcd-servers http://127.0.0.1:2379 crest.backup
  crest serve --etcd-servers http://127.0.0.1:2379")]
pub(crate) struct RestoreFlags {
    /// The data directory to make; its store must not exist yet
    #[arg(long, value_name = "DIR", default_value = "crest-data")]
    pub(crate) data_dir: PathBuf,

    #[command(flatten)]
    pub(crate) etcd: EtcdFlags,

    /// Let objects have new resource versions, all greater than the old ones: for an etcd that is not new, or in haste
    #[arg(long, requires = "etcd_servers", help_heading = "etcd")]
    pub(crate) new_revisions: bool,

    /// The backup to read
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  crest serve                                    data in ./crest-data, https://127.0.0.1:6443
  crest serve --secure-port 0                    any free port; the kubeconfig has it
  crest serve --data-dir /var/lib/crest --token-auth-file tokens.csv
  crest serve --etcd-servers https://10.0.0.1:2379,https://10.0.0.2:2379 --etcd-cafile ca.crt \\
    --etcd-certfile crest.crt --etcd-keyfile crest.key")]
pub(crate) struct ServeFlags {
    /// Directory for everything that must not be lost: the store, certificates, the admin kubeconfig
    #[arg(long, value_name = "DIR", default_value = "crest-data")]
    pub(crate) data_dir: PathBuf,

    /// IP address to listen on
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    pub(crate) bind_address: IpAddr,

    /// Port to serve HTTPS on; 0 picks a free one
    #[arg(long, value_name = "PORT", default_value_t = 6443)]
    pub(crate) secure_port: u16,

    /// Where to write the kubeconfig of the administrator [default: admin.kubeconfig in the data directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig_out: Option<PathBuf>,

    /// Directory of the certificates that Crest makes and renews [default: pki in the data directory]
    #[arg(long, value_name = "DIR", help_heading = "TLS")]
    pub(crate) cert_dir: Option<PathBuf>,

    /// What clients call the server when a load balancer stands before it: a name or an IP address for the certificate
    #[arg(long, value_name = "HOST", help_heading = "TLS")]
    pub(crate) external_hostname: Option<String>,

    /// Serve with this certificate (PEM, with its chain) instead of one that Crest makes
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file", help_heading = "TLS")]
    pub(crate) tls_cert_file: Option<PathBuf>,

    /// The private key of --tls-cert-file
    #[arg(long, value_name = "FILE", requires = "tls_cert_file", help_heading = "TLS")]
    pub(crate) tls_private_key_file: Option<PathBuf>,

    /// Believe client certificates that one of these authorities signed (CN is the user, O the groups)
    #[arg(long, value_name = "FILE", help_heading = "Identity")]
    pub(crate) client_ca_file: Option<PathBuf>,

    /// Believe the bearer tokens in this CSV file: token,user,uid,"group1,group2"
    #[arg(long, value_name = "FILE", help_heading = "Identity")]
    pub(crate) token_auth_file: Option<PathBuf>,

    /// Treat requests without credentials as the user system:anonymous
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set, help_heading = "Identity")]
    pub(crate) anonymous_auth: bool,

    /// How long a request other than a watch may take
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = duration, help_heading = "Limits")]
    pub(crate) request_timeout: Duration,

    /// Requests that read, at once; 0 for no limit
    #[arg(long, value_name = "N", default_value_t = 400, help_heading = "Limits")]
    pub(crate) max_requests_inflight: usize,

    /// Requests that write, at once; 0 for no limit
    #[arg(long, value_name = "N", default_value_t = 200, help_heading = "Limits")]
    pub(crate) max_mutating_requests_inflight: usize,

    /// Where a service is that a webhook is reached by: namespace/name=host:port, or namespace/name:443=host:port for
    /// one of its ports. May be given several times; services that are not named are found by their objects
    #[arg(long, value_name = "SERVICE=ADDRESS", value_parser = service_address, help_heading = "Webhooks")]
    pub(crate) service_resolver: Vec<String>,

    /// How long events are kept
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = duration, help_heading = "Storage")]
    pub(crate) event_ttl: Duration,

    /// How long replaced and deleted objects can still be watched and paged through; on etcd 0 leaves it to others
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration, help_heading = "Storage")]
    pub(crate) etcd_compaction_interval: Duration,

    #[command(flatten)]
    pub(crate) etcd: EtcdFlags,

    /// How long to go on serving, though no longer ready, when asked to stop: time for load balancers to notice
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration, help_heading = "Limits")]
    pub(crate) shutdown_delay_duration: Duration,

    /// How long to wait for requests under way when stopping
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration, help_heading = "Limits")]
    pub(crate) shutdown_grace: Duration,

    /// What to log: error, warn, info, debug, trace, or a filter such as '`info,crest_server=debug`'
    #[arg(long, value_name = "LEVEL", default_value = "info", help_heading = "Log")]
    pub(crate) log_level: String,

    /// How to log
    #[arg(long, value_enum, default_value_t = LogFormat::Text, help_heading = "Log")]
    pub(crate) log_format: LogFormat,
}

/// An entry of the map of services, checked and kept as it is written.
fn service_address(text: &str) -> Result<String, String> {
    ServiceMap::default().add(text).map(|()| text.to_owned()).map_err(|error| error.to_string())
}

/// A duration as Go writes it: `1m30s`, `500ms`, `2h`.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("'{text}' is no duration; write it like 30s, 5m or 1h30m");
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let (mut rest, mut total) = (text, 0.0);
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').ok_or_else(wrong)?;
        let number: f64 = rest[..digits].parse().map_err(|_| wrong())?;
        rest = &rest[digits..];
        let letters = rest.find(|letter: char| letter.is_ascii_digit()).unwrap_or(rest.len());
        let unit = match &rest[..letters] {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return Err(wrong()),
        };
        total += number * unit;
        rest = &rest[letters..];
    }
    if text.is_empty() {
        return Err(wrong());
    }
    Duration::try_from_secs_f64(total).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Flags::command().debug_assert();
    }

    #[test]
    fn durations_are_read_as_go_writes_them() {
        assert_eq!(duration("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1.5h"), Ok(Duration::from_mins(90)));
        for wrong in ["", "5", "m", "1x", "-1s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
