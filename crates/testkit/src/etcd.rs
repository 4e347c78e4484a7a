//! A real etcd of one or three members, for tests: started, paused, killed and started again.
//!
//! Each member has a loopback address of its own, made from the id of the test's process, so that no ports have to be
//! found and a member comes back where it was.

mod certificates;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::process::Process;
use crate::{PATIENCE, tool};
use certificates::Certificates;

const CLIENT_PORT: u16 = 2379;
const PEER_PORT: u16 = 2380;
/// An election cannot be waited for, only asked about.
const BETWEEN_QUESTIONS: Duration = Duration::from_millis(50);
/// What every version says once it takes part in the cluster and listens.
const READY: &[&str] =
    &["ready to serve client requests", "serving client traffic", "serving insecure client requests"];

/// The versions that tests run against, as far as the machine has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EtcdVersion {
    /// The one of Debian.
    Old,
    /// The one that is always there.
    Usual,
    /// The newest.
    New,
}

impl EtcdVersion {
    pub const ALL: [Self; 3] = [Self::Old, Self::Usual, Self::New];

    /// `None`, with a word about it, on a machine without it; an error where tests must be complete.
    pub fn program(self) -> Option<PathBuf> {
        tool::find(match self {
            Self::Old => "CREST_ETCD_3_4",
            Self::Usual => "CREST_ETCD",
            Self::New => "CREST_ETCD_3_7",
        })
    }
}

/// What an etcd is to be like.
#[derive(Clone, Debug)]
pub struct EtcdSetup {
    program: PathBuf,
    members: u8,
    secured: bool,
    arguments: Vec<String>,
}

impl EtcdSetup {
    /// One member without TLS. `None` when the machine has no such etcd.
    pub fn new(version: EtcdVersion) -> Option<Self> {
        let program = version.program()?;
        Some(EtcdSetup { program, members: 1, secured: false, arguments: Vec::new() })
    }

    #[must_use]
    pub fn members(mut self, members: u8) -> Self {
        self.members = members;
        self
    }

    /// Clients must show a certificate, and are shown one.
    #[must_use]
    pub fn secured(mut self) -> Self {
        self.secured = true;
        self
    }

    #[must_use]
    pub fn with(mut self, option: &str, value: &str) -> Self {
        self.arguments.push(format!("{option}={value}"));
        self
    }

    /// Starts all members and waits until each serves.
    pub fn start(self) -> Etcd {
        let folder = tempfile::Builder::new().prefix("crest-etcd-").tempdir();
        let folder = folder.expect("a temporary folder can be made");
        let addresses: Vec<Ipv4Addr> = (0..self.members).map(|_| fresh_address()).collect();
        let certificates = self.secured.then(|| Certificates::make(folder.path(), &addresses));
        let mut etcd = Etcd { setup: self, folder, certificates, members: Vec::new() };
        etcd.members.extend(addresses.into_iter().map(|address| Member { address, process: None }));
        for number in 0..etcd.members.len() {
            etcd.launch(number);
        }
        for number in 0..etcd.members.len() {
            etcd.await_ready(number);
        }
        etcd
    }
}

/// A loopback address that no other test has: 127, two bytes of the process id, a counter.
fn fresh_address() -> Ipv4Addr {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    assert!((1..u8::MAX).contains(&number), "a test program has at most 254 members of etcd");
    let [_, _, high, low] = std::process::id().to_be_bytes();
    // 127.0.0.x belongs to everybody.
    Ipv4Addr::new(127, high.max(1), low, number)
}

/// A running cluster; dropping it ends it and removes its data.
pub struct Etcd {
    setup: EtcdSetup,
    members: Vec<Member>,
    certificates: Option<Certificates>,
    // After the members: a running member would still write to it.
    folder: TempDir,
}

struct Member {
    address: Ipv4Addr,
    process: Option<Process>,
}

impl Etcd {
    /// One member of the usual version without TLS; `None` when the machine has none.
    pub fn start() -> Option<Self> {
        Some(EtcdSetup::new(EtcdVersion::Usual)?.start())
    }

    /// How many members there are, running or not.
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// Where clients reach a member.
    pub fn address(&self, member: usize) -> SocketAddr {
        SocketAddr::from((self.members[member].address, CLIENT_PORT))
    }

    /// The URLs of all members, as `--etcd-servers` takes them.
    pub fn endpoints(&self) -> Vec<String> {
        (0..self.members()).map(|member| self.url(self.address(member))).collect()
    }

    /// The URL of an address: that of a member, or of a proxy before it.
    pub fn url(&self, address: SocketAddr) -> String {
        let scheme = if self.setup.secured { "https" } else { "http" };
        format!("{scheme}://{address}")
    }

    /// The authority, certificate and key that clients need, when it is secured.
    pub fn client_files(&self) -> Option<[&Path; 3]> {
        self.certificates.as_ref().map(Certificates::for_clients)
    }

    /// Ends a member without any warning.
    pub fn kill(&mut self, member: usize) {
        // Dropping a process kills it and waits for its end.
        self.members[member].process = None;
    }

    /// Stops a member in the middle of whatever it does: it keeps its connections and answers nothing.
    pub fn pause(&self, member: usize) {
        self.signal(member, Signal::STOP);
    }

    pub fn resume(&self, member: usize) {
        self.signal(member, Signal::CONT);
    }

    /// Kills a member and starts it again on its data.
    pub fn restart(&mut self, member: usize) {
        self.kill(member);
        self.launch(member);
        self.await_ready(member);
    }

    /// Starts a member that was killed, without waiting: alone it may not be able to serve.
    pub fn launch(&mut self, member: usize) {
        let name = |number: usize| format!("m{number}");
        let address = self.members[member].address;
        let client = self.url(self.address(member));
        let peer = |address: Ipv4Addr| format!("http://{address}:{PEER_PORT}");
        let cluster = self.members.iter().enumerate();
        let cluster: Vec<String> =
            cluster.map(|(number, member)| format!("{}={}", name(number), peer(member.address))).collect();
        let mut command = Command::new(&self.setup.program);
        command.current_dir(self.folder.path()).env_clear();
        for (option, value) in [
            ("--name", name(member)),
            ("--data-dir", self.folder.path().join(name(member)).display().to_string()),
            ("--listen-client-urls", client.clone()),
            ("--advertise-client-urls", client),
            ("--listen-peer-urls", peer(address)),
            ("--initial-advertise-peer-urls", peer(address)),
            ("--initial-cluster", cluster.join(",")),
            ("--logger", "zap".to_owned()),
            ("--log-outputs", "stdout".to_owned()),
        ] {
            command.arg(format!("{option}={value}"));
        }
        if let Some(certificates) = &self.certificates {
            command.args(certificates.server_arguments());
        }
        command.args(&self.setup.arguments);
        self.members[member].process = Some(Process::spawn(&mut command));
    }

    /// Waits until a member that was launched serves.
    pub fn await_ready(&self, member: usize) {
        let process = self.members[member].process.as_ref().expect("the member was launched");
        let mut log = String::new();
        while let Some(line) = process.line() {
            log.push_str(&line);
            log.push('\n');
            if READY.iter().any(|ready| line.contains(ready)) {
                return;
            }
        }
        panic!("etcd did not start:\n{log}{}", process.stderr());
    }

    /// Gives up all history up to now, through the HTTP gateway of a member. Without TLS only.
    pub fn compact(&self, member: usize) {
        let read = self.ask(member, "/v3/kv/range", r#"{"key":"AA=="}"#);
        let revision = read.split(r#""revision":""#).nth(1).and_then(|rest| rest.split('"').next());
        let revision = revision.unwrap_or_else(|| panic!("no revision in {read}"));
        let answer = self.ask(member, "/v3/kv/compaction", &format!(r#"{{"revision":"{revision}"}}"#));
        let done = answer.contains("200 OK") || answer.contains("required revision has been compacted");
        assert!(done, "{answer}");
    }

    /// The whole answer to a request to the gateway, asked again while the members elect a leader.
    fn ask(&self, member: usize, path: &str, body: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let answer = self.ask_once(member, path, body);
            if !answer.contains("503 Service Unavailable") || Instant::now() > deadline {
                return answer;
            }
            std::thread::sleep(BETWEEN_QUESTIONS);
        }
    }

    fn ask_once(&self, member: usize, path: &str, body: &str) -> String {
        let request = format!("POST {path} HTTP/1.0\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        let mut answer = String::new();
        let asked = TcpStream::connect(self.address(member)).and_then(|mut stream| {
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.write_all(request.as_bytes())?;
            stream.read_to_string(&mut answer)
        });
        asked.unwrap_or_else(|error| panic!("etcd does not answer {path}: {error}"));
        answer
    }

    fn signal(&self, member: usize, signal: Signal) {
        self.members[member].process.as_ref().expect("the member runs").signal(signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the cluster says that it is in good health through this member.
    fn is_healthy(etcd: &Etcd, member: usize) -> bool {
        let Ok(mut stream) = TcpStream::connect(etcd.address(member)) else { return false };
        let request = "GET /health HTTP/1.0\r\n\r\n";
        let mut answer = String::new();
        let asked = stream.write_all(request.as_bytes()).and_then(|()| stream.read_to_string(&mut answer));
        asked.is_ok() && answer.contains(r#""health":"true""#)
    }

    #[test]
    fn every_version_starts_and_comes_back() {
        for version in EtcdVersion::ALL {
            let Some(setup) = EtcdSetup::new(version) else { continue };
            let mut etcd = setup.start();
            assert!(is_healthy(&etcd, 0), "{version:?}");
            etcd.kill(0);
            assert!(!is_healthy(&etcd, 0), "{version:?}");
            etcd.launch(0);
            etcd.await_ready(0);
            assert!(is_healthy(&etcd, 0), "{version:?}");
        }
    }

    #[test]
    fn three_members_survive_the_loss_and_the_pause_of_one() {
        let Some(setup) = EtcdSetup::new(EtcdVersion::Usual) else { return };
        let mut etcd = setup.members(3).start();
        assert_eq!(etcd.endpoints().len(), 3);
        etcd.kill(1);
        etcd.restart(1);
        etcd.pause(2);
        etcd.compact(0);
        etcd.resume(2);
        let deadline = Instant::now() + PATIENCE;
        while !(0..3).all(|member| is_healthy(&etcd, member)) {
            assert!(Instant::now() < deadline, "the cluster does not come back");
            std::thread::sleep(BETWEEN_QUESTIONS);
        }
    }

    #[test]
    fn a_secured_member_serves_nobody_without_a_certificate() {
        let Some(setup) = EtcdSetup::new(EtcdVersion::Usual) else { return };
        let etcd = setup.secured().start();
        assert!(etcd.endpoints()[0].starts_with("https://"));
        assert!(etcd.client_files().is_some_and(|files| files.iter().all(|file| file.is_file())));
        assert!(!is_healthy(&etcd, 0));
    }
}
