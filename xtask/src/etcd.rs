//! An etcd to serve from: one member on a loopback address of its own, with data that go with it.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::process::{Group, TempFolder};
use crate::tools::last_lines;

/// How long a start may take on a busy machine before we call it hung.
const START_TIMEOUT: Duration = Duration::from_mins(1);
const CLIENT_PORT: u16 = 2379;
const PEER_PORT: u16 = 2380;

/// A running etcd, ended and forgotten when this goes out of scope.
pub(crate) struct Etcd {
    address: SocketAddr,
    // The order matters: the process ends before its data goes.
    group: Group,
    folder: TempFolder,
}

impl Etcd {
    /// Starts an empty one and waits until it says that it is in good health.
    pub(crate) fn start(program: &Path) -> Result<Self> {
        let folder = TempFolder::new()?;
        let host = own_address();
        let address = SocketAddr::from((host, CLIENT_PORT));
        let (client, peer) = (format!("http://{address}"), format!("http://{host}:{PEER_PORT}"));
        let log = File::create(folder.path().join("etcd.log"))?;
        let mut command = Command::new(program);
        command.arg("--data-dir").arg(folder.path().join("data"));
        command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        command.arg("--initial-cluster").arg(format!("default={peer}"));
        command.stdout(log.try_clone()?).stderr(log).current_dir(folder.path());
        let group = Group::spawn(&mut command)?;
        let mut etcd = Etcd { address, group, folder };
        let began = Instant::now();
        while !etcd.is_healthy() {
            if let Some(status) = etcd.group.ended()? {
                bail!("etcd ended at its start ({status}):\n{}", etcd.log());
            }
            if began.elapsed() > START_TIMEOUT {
                bail!("etcd is not ready after {} s:\n{}", START_TIMEOUT.as_secs(), etcd.log());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(etcd)
    }

    /// The option that makes Crest serve from it.
    pub(crate) fn flag(&self) -> String {
        format!("--etcd-servers=http://{}", self.address)
    }

    fn is_healthy(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(self.address) else { return false };
        let mut answer = String::new();
        let asked = stream
            .write_all(b"GET /health HTTP/1.0\r\n\r\n")
            .and_then(|()| stream.read_to_string(&mut answer));
        asked.is_ok() && answer.contains(r#""health":"true""#)
    }

    fn log(&self) -> String {
        let text = std::fs::read(self.folder.path().join("etcd.log")).unwrap_or_default();
        last_lines(&String::from_utf8_lossy(&text), 30)
    }
}

/// A loopback address that nobody else has: 127, two bytes of the process id, a counter.
fn own_address() -> Ipv4Addr {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    let [_, _, high, low] = std::process::id().to_be_bytes();
    Ipv4Addr::new(127, high.max(1), low, NEXT.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_etcd_that_ends_at_once_is_reported_with_its_words() {
        use std::os::unix::fs::PermissionsExt;
        let folder = TempFolder::new().unwrap();
        let program = folder.path().join("etcd");
        std::fs::write(&program, "#!/bin/sh\necho 'no such flag' >&2\nexit 2\n").unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let error = Etcd::start(&program).err().unwrap().to_string();
        assert!(error.contains("exit status: 2") && error.contains("no such flag"), "{error}");
    }
}
