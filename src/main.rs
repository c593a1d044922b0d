use std::process::ExitCode;

use clap::Parser;
use contextd::cli::output::complain;
use contextd::cli::{self, Cli};

/// Requests make many small, short-lived allocations on several threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    // The HTTP clients come without a TLS provider of their own. It fails only when one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
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
