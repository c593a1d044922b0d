use std::process::ExitCode;

use clap::Parser;
use contextd::background::take_short_turns;
use contextd::cli::output::complain;
use contextd::cli::{self, Cli};

/// Requests make many small, short-lived allocations on several threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    // The HTTP clients come without a TLS provider of their own. It fails only when one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    // A request is answered in little time: its thread need not wait for the end of another one's turn.
    let runtime = match builder.enable_all().on_thread_start(take_short_turns).build() {
        Ok(runtime) => runtime,
        Err(error) => {
            complain(&error.to_string());
            return ExitCode::FAILURE;
        }
    };
    let outcome = runtime.block_on(cli::run(cli));
    // Whatever still works on another thread was given up: nobody waits for it.
    runtime.shutdown_background();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}
