//! The program: flags become a configuration, the configuration becomes a running server.

mod backup;
mod flags;
mod logging;
mod serve;
mod storage;

use std::process::ExitCode;

use clap::Parser;

/// Objects are trees of small pieces, made and dropped on every write.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let flags = flags::Flags::parse();
    let result = match flags.command {
        flags::Command::Serve(flags) => serve::run(*flags),
        flags::Command::Backup(flags) => backup::write(&flags),
        flags::Command::Restore(flags) => backup::restore(&flags),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&error);
            ExitCode::FAILURE
        }
    }
}

/// One sentence with its causes, where a person looks for it.
#[expect(clippy::print_stderr, reason = "the log may not be set up yet")]
fn report(error: &anyhow::Error) {
    eprintln!("crest: {error:#}");
}
