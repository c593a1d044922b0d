use std::process::ExitCode;

use clap::Parser;
use contextd::cli::{self, Cli};

/// Requests make many small, short-lived allocations on several threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    // The HTTP clients come without a TLS provider of their own. It fails only when one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match cli::run(cli).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("contextd: {error:#}");
            ExitCode::FAILURE
        }
    }
}
