//! The server under test: started, stopped, killed and started again on the same data.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use base64::Engine;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::client::{Client, Http};
use crate::process::{Ended, Process};

/// The tokens that every test server knows: an administrator, and a user without rights.
const TOKENS: &str = "admin-token,token-admin,uid-1,system:masters\nuser-token,jane,uid-2,\"devs,ops\"\n";

/// Who a client says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credentials {
    /// The client certificate of the kubeconfig, a member of `system:masters`.
    Admin,
    /// A member of `system:masters` by token.
    AdminToken,
    /// The user `jane` in `devs` and `ops`, by token, who may do nothing.
    User,
    /// A token nobody knows.
    Stranger,
    Nobody,
}

/// How a server is to be started.
#[derive(Clone)]
pub struct Setup {
    binary: PathBuf,
    folder: Arc<TempDir>,
    arguments: Vec<String>,
    /// A shell script that ends with running what it is given.
    wrapper: Option<String>,
}

impl Setup {
    /// `binary` is `env!("CARGO_BIN_EXE_crest")` of the test.
    pub fn new(binary: &str) -> Self {
        let folder =
            tempfile::Builder::new().prefix("crest-test-").tempdir().expect("a temporary folder can be made");
        std::fs::write(folder.path().join("tokens.csv"), TOKENS).expect("the temporary folder is writable");
        Setup { binary: binary.into(), folder: Arc::new(folder), arguments: Vec::new(), wrapper: None }
    }

    /// Adds an option; one of `crest serve` given again replaces the default of the tests.
    #[must_use]
    pub fn with(mut self, option: &str, value: impl AsRef<Path>) -> Self {
        self.arguments.push(format!("{option}={}", value.as_ref().display()));
        self
    }

    /// Has the server started by a shell script, which gets its command line as `"$@"` and must `exec` it.
    #[must_use]
    pub fn through(mut self, script: &str) -> Self {
        self.wrapper = Some(script.to_owned());
        self
    }

    /// The folder of this test, in which the data directory is made.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn data_dir(&self) -> PathBuf {
        self.folder().join("data")
    }

    pub fn start(&self) -> Crest {
        let process = self.spawn();
        let Some(line) = process.line() else { panic!("crest did not start:\n{}", process.stderr()) };
        let address = line.strip_prefix("Crest serves https://").and_then(|address| address.parse().ok());
        let address = address.unwrap_or_else(|| panic!("unexpected first line of output: {line}"));
        Crest { setup: self.clone(), address, process }
    }

    /// Starts a server and kills it before it can have come up.
    pub fn start_in_vain(&self) {
        drop(self.spawn());
    }

    /// Starts a server that must not come up, and returns what it said.
    pub async fn fail(&self) -> Ended {
        let mut process = self.spawn();
        if let Some(line) = process.line() {
            panic!("crest should not have started, but says: {line}");
        }
        process.ended().await
    }

    fn spawn(&self) -> Process {
        let mut command = match &self.wrapper {
            None => Command::new(&self.binary),
            Some(script) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", script, "sh"]).arg(&self.binary);
                shell
            }
        };
        command.current_dir(self.folder()).arg("serve");
        let given = |option: &str| self.arguments.iter().any(|argument| argument.starts_with(option));
        for (option, value) in [
            ("--data-dir=", self.data_dir().display().to_string()),
            ("--secure-port=", "0".to_owned()),
            ("--token-auth-file=", self.folder().join("tokens.csv").display().to_string()),
        ] {
            if !given(option) {
                command.arg(format!("{option}{value}"));
            }
        }
        Process::spawn(command.args(&self.arguments))
    }
}

/// A running server.
pub struct Crest {
    process: Process,
    setup: Setup,
    pub address: SocketAddr,
}

impl Crest {
    /// Starts with the defaults of the tests. `binary` is `env!("CARGO_BIN_EXE_crest")`.
    pub fn start(binary: &str) -> Self {
        Setup::new(binary).start()
    }

    pub fn folder(&self) -> &Path {
        self.setup.folder()
    }

    pub fn data_dir(&self) -> PathBuf {
        self.setup.data_dir()
    }

    pub fn kubeconfig(&self) -> PathBuf {
        let given = self.setup.arguments.iter().rev().find_map(|text| text.strip_prefix("--kubeconfig-out="));
        given.map_or_else(|| self.data_dir().join("admin.kubeconfig"), PathBuf::from)
    }

    /// The administrator, over HTTP/2.
    pub fn client(&self) -> Client {
        self.client_as(Credentials::Admin, Http::Two)
    }

    pub fn client_as(&self, credentials: Credentials, http: Http) -> Client {
        let kubeconfig =
            std::fs::read_to_string(self.kubeconfig()).expect("the server writes its kubeconfig");
        let pem = |key| embedded(&kubeconfig, key);
        let identity = (credentials == Credentials::Admin)
            .then(|| (pem("client-certificate-data"), pem("client-key-data")));
        let token = match credentials {
            Credentials::AdminToken => Some("admin-token"),
            Credentials::User => Some("user-token"),
            Credentials::Stranger => Some("no-such-token"),
            Credentials::Admin | Credentials::Nobody => None,
        };
        Client::new(self.address, &pem("certificate-authority-data"), identity.as_ref(), token, http)
    }

    /// The id of the process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// What it wrote to standard error up to now.
    pub fn log(&self) -> String {
        self.process.stderr()
    }

    /// Asks it to end, as `kill` does.
    pub fn terminate(&self) {
        self.process.signal(Signal::TERM);
    }

    pub async fn ended(&mut self) -> Ended {
        self.process.ended().await
    }

    /// Ends it in order and starts it again on the same data, on another port.
    pub async fn restart(mut self) -> Self {
        self.terminate();
        let ended = self.ended().await;
        assert_eq!(ended.code, Some(0), "an orderly stop must succeed:\n{}", ended.stderr);
        self.setup.start()
    }

    /// Ends it without any warning, as a power cut does to a process.
    pub fn kill(&self) {
        self.process.signal(Signal::KILL);
    }

    /// Stops it in the middle of whatever it does: it keeps its connections and answers nothing.
    pub fn pause(&self) {
        self.process.signal(Signal::STOP);
    }

    pub fn resume(&self) {
        self.process.signal(Signal::CONT);
    }

    /// Kills it and starts it again on the same data, on another port.
    pub async fn crash(mut self) -> Self {
        self.kill();
        self.ended().await;
        self.setup.start()
    }

    pub fn setup(&self) -> &Setup {
        &self.setup
    }
}

/// A PEM text that stands in a kubeconfig under this key.
fn embedded(kubeconfig: &str, key: &str) -> Vec<u8> {
    let line = kubeconfig.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix(": "));
    let text = line.unwrap_or_else(|| panic!("the kubeconfig has no {key}:\n{kubeconfig}"));
    base64::engine::general_purpose::STANDARD.decode(text.trim_matches('"')).expect("kubeconfigs hold base64")
}

/// The program that `cargo build -p crest` leaves beside the test that runs, for tests of other packages.
pub fn built_crest() -> String {
    let test = std::env::current_exe().expect("a program knows where it is");
    let folder = test.parent().and_then(Path::parent).expect("tests are in target/<profile>/deps");
    let program = folder.join("crest");
    assert!(program.is_file(), "{} is not there: run `cargo build -p crest` first", program.display());
    program.display().to_string()
}
