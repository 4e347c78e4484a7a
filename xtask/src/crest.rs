//! A Crest to work against: built for release, started on a free port with a data folder of its own.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::process::{self, Group, TempFolder};
use crate::progress::Progress;
use crate::tools::{Tools, last_lines};
use crate::workspace::Workspace;

/// How long a start may take on a busy machine before we call it hung.
const START_TIMEOUT: Duration = Duration::from_mins(1);

/// Builds the program and says where it is.
pub(crate) fn build(workspace: &Workspace, progress: &Progress) -> Result<PathBuf> {
    let mut cargo = workspace.cargo();
    cargo.args(["build", "--release", "-p", "crest"]);
    let shown = process::typed(&cargo);
    let finished = process::run(cargo, |line| progress.note(line))?;
    if !finished.status.success() {
        bail!("the release build failed: {shown}\n{}", finished.output);
    }
    Ok(workspace.target.join("release/crest"))
}

/// What `crest serve` can be told, as its help lists it.
pub(crate) struct Flags(String);

impl Flags {
    pub(crate) fn of(binary: &Path) -> Result<Self> {
        let help = process::probe(Command::new(binary).args(["serve", "--help"]));
        Ok(Self(help.with_context(|| format!("`{} serve --help` fails", binary.display()))?))
    }

    /// Of the wanted `--name=value` flags those whose name is known.
    pub(crate) fn known(&self, wanted: &[String]) -> Vec<String> {
        wanted.iter().filter(|flag| self.knows(flag)).cloned().collect()
    }

    pub(crate) fn knows(&self, flag: &str) -> bool {
        let name = flag.split('=').next().unwrap_or(flag);
        let is_boundary = |c: char| !c.is_ascii_alphanumeric() && c != '-';
        self.0.split(is_boundary).any(|word| word == name)
    }
}

pub(crate) struct Options<'a> {
    pub(crate) binary: &'a Path,
    /// Lines of kube-apiserver's token file: `token,user,uid,"group,group"`.
    pub(crate) tokens: &'a str,
    pub(crate) flags: &'a [String],
}

/// A running server, ended and forgotten when this goes out of scope.
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) began: Instant,
    // The order matters: the process ends before its data goes.
    group: Group,
    folder: TempFolder,
}

impl Server {
    /// Starts a server and waits until it says that it is ready.
    pub(crate) fn start(options: &Options<'_>, tools: &Tools) -> Result<Self> {
        let kubectl = tools.kubectl();
        Self::start_until(options, |kubeconfig| {
            let mut command = Command::new(&kubectl);
            command.arg("--kubeconfig").arg(kubeconfig);
            command.args(["--request-timeout", "2s", "get", "--raw", "/readyz"]);
            process::probe(&mut command).is_some()
        })
    }

    fn start_until(options: &Options<'_>, is_ready: impl Fn(&Path) -> bool) -> Result<Self> {
        let folder = TempFolder::new()?;
        let began = Instant::now();
        let kubeconfig = folder.path().join("kubeconfig");
        let mut command = serve(options, folder.path(), 0)?;
        let log = File::create(folder.path().join("server.log"))?;
        command.stdout(log.try_clone()?).stderr(log);
        let group = Group::spawn(&mut command)?;
        let mut server = Self { url: String::new(), began, group, folder };
        loop {
            if let Some(status) = server.group.ended()? {
                bail!("crest ended at its start ({status}):\n{}", server.log());
            }
            let text = std::fs::read_to_string(&kubeconfig).unwrap_or_default();
            if let Some(url) = server_url(&text)
                && is_ready(&kubeconfig)
            {
                server.url = url.to_string();
                return Ok(server);
            }
            if began.elapsed() > START_TIMEOUT {
                bail!("crest is not ready after {} s:\n{}", START_TIMEOUT.as_secs(), server.log());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.group.id()
    }

    /// The end of what the server wrote.
    pub(crate) fn log(&self) -> String {
        let text = std::fs::read(self.folder.path().join("server.log")).unwrap_or_default();
        last_lines(&String::from_utf8_lossy(&text), 30)
    }
}

/// The command that serves from `folder`. Port 0 picks a free one.
pub(crate) fn serve(options: &Options<'_>, folder: &Path, port: u16) -> Result<Command> {
    let tokens = folder.join("tokens.csv");
    std::fs::write(&tokens, options.tokens).context("cannot write the token file")?;
    let mut command = Command::new(options.binary);
    command.arg("serve").arg("--secure-port").arg(port.to_string());
    command.arg("--data-dir").arg(folder.join("data"));
    command.arg("--token-auth-file").arg(tokens);
    command.arg("--kubeconfig-out").arg(folder.join("kubeconfig"));
    command.args(options.flags).current_dir(folder);
    Ok(command)
}

/// The address of the server in a kubeconfig, in YAML or JSON.
fn server_url(kubeconfig: &str) -> Option<&str> {
    let at = kubeconfig.find("https://")?;
    let url = &kubeconfig[at..];
    let end = url.find(|c: char| c.is_whitespace() || "\"',}".contains(c))?;
    Some(&url[..end])
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A script in the place of the program.
    fn fake(folder: &TempFolder, script: &str) -> PathBuf {
        let path = folder.path().join("crest");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        path
    }

    fn options(binary: &Path) -> Options<'_> {
        Options { binary, tokens: "t,u,i,g\n", flags: &[] }
    }

    #[test]
    fn a_server_is_ready_when_it_says_so_and_ends_with_its_owner() {
        let folder = TempFolder::new().unwrap();
        let binary = fake(
            &folder,
            "echo \"$@\" >args; cat tokens.csv >>args; echo 'server: https://127.0.0.1:7' >kubeconfig; exec sleep 60",
        );
        let asked = Cell::new(0);
        let ready = |_: &Path| asked.replace(asked.get() + 1) == 1;
        let server = Server::start_until(&options(&binary), ready).unwrap();
        assert_eq!(server.url, "https://127.0.0.1:7");
        assert_eq!(asked.get(), 2);
        let args = std::fs::read_to_string(server.folder.path().join("args")).unwrap();
        assert!(
            args.starts_with("serve --secure-port 0 --data-dir ") && args.ends_with("t,u,i,g\n"),
            "{args}"
        );
        let (id, path) = (server.id(), server.folder.path().to_path_buf());
        drop(server);
        assert!(!Path::new(&format!("/proc/{id}")).exists() && !path.exists());
    }

    #[test]
    fn a_server_that_ends_at_once_is_reported_with_its_words() {
        let folder = TempFolder::new().unwrap();
        let binary = fake(&folder, "echo 'error: the port is busy' >&2; exit 3");
        let error = Server::start_until(&options(&binary), |_| true).err().unwrap().to_string();
        assert!(error.contains("exit status: 3") && error.contains("the port is busy"), "{error}");
    }

    #[test]
    fn only_known_flags_are_passed() {
        let flags = Flags("  --client-ca-file <FILE>  trust\n  --bind-address <A>\n".into());
        let wanted = ["--client-ca-file=a", "--client-ca=b", "--anonymous-auth=true"].map(String::from);
        assert_eq!(flags.known(&wanted), ["--client-ca-file=a"]);
        assert!(flags.knows("--bind-address") && !flags.knows("--bind"));
    }

    #[test]
    fn the_address_is_found_in_yaml_and_json() {
        assert_eq!(server_url("- cluster:\n    server: https://127.0.0.1:1\n"), Some("https://127.0.0.1:1"));
        assert_eq!(server_url(r#"{"server":"https://[::1]:2"}"#), Some("https://[::1]:2"));
        assert_eq!(server_url("server: https://127.0.0.1:1"), None, "still being written");
        assert_eq!(server_url(""), None);
    }
}
