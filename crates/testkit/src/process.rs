//! A child process that is always ended and waited for.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;

use rustix::process::{Pid, Signal};
use tokio::sync::watch;

use crate::{PATIENCE, soon};

/// How a process ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// `None`: a signal ended it.
    pub code: Option<i32>,
    pub stderr: String,
}

/// What is left of a process.
#[derive(Clone, Copy)]
struct Exit {
    code: Option<i32>,
}

/// A running process; dropping it kills it and waits for its end.
pub(crate) struct Process {
    pid: Pid,
    /// The exit code once there is one, sent by the thread that waits.
    exit: watch::Receiver<Option<Exit>>,
    lines: mpsc::Receiver<String>,
    stderr: Arc<Mutex<String>>,
    waiter: Option<JoinHandle<()>>,
}

impl Process {
    pub(crate) fn spawn(command: &mut Command) -> Self {
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let pid = Pid::from_child(&child);
        let stderr = Arc::new(Mutex::new(String::new()));
        let (line_sender, lines) = mpsc::channel();
        let (exit_sender, exit) = watch::channel(None);
        let waiter = std::thread::spawn({
            let stderr = stderr.clone();
            move || {
                let code = follow(&mut child, &line_sender, &stderr);
                exit_sender.send_replace(Some(Exit { code }));
            }
        });
        Process { pid, exit, lines, stderr, waiter: Some(waiter) }
    }

    /// The next line on standard output; `None` when the process ended without one.
    pub(crate) fn line(&self) -> Option<String> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Some(line),
            Err(mpsc::RecvTimeoutError::Disconnected) => None,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                panic!("the program says nothing; its log:\n{}", self.stderr())
            }
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        if self.exit.borrow().is_none() {
            let _ = rustix::process::kill_process(self.pid, signal); // it may have ended meanwhile
        }
    }

    /// What the process wrote to standard error up to now.
    pub(crate) fn stderr(&self) -> String {
        self.stderr.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn id(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Waits for the end.
    pub(crate) async fn ended(&mut self) -> Ended {
        let exit = soon("the end of the program", self.exit.wait_for(Option::is_some)).await;
        let code = exit.ok().and_then(|exit| exit.and_then(|exit| exit.code));
        Ended { code, stderr: self.stderr() }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        if let Some(waiter) = self.waiter.take() {
            let _ = waiter.join();
        }
    }
}

/// Collects all output and returns the exit code once both streams and the process have ended.
fn follow(child: &mut Child, lines: &mpsc::Sender<String>, stderr: &Arc<Mutex<String>>) -> Option<i32> {
    let log = child.stderr.take().map(|stream| {
        let stderr = stderr.clone();
        std::thread::spawn(move || collect(stream, &stderr))
    });
    for line in child.stdout.take().into_iter().flat_map(|stream| BufReader::new(stream).lines()) {
        let Ok(line) = line else { break };
        let _ = lines.send(line); // nobody need listen
    }
    let status = child.wait();
    if let Some(log) = log {
        let _ = log.join();
    }
    status.ok().and_then(|status| status.code())
}

fn collect(mut stream: impl Read, text: &Mutex<String>) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        let piece = String::from_utf8_lossy(&buffer[..count]);
        text.lock().unwrap_or_else(PoisonError::into_inner).push_str(&piece);
    }
}
