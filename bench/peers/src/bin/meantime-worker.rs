//! Works on tasks of type `noop` until it is stopped.

use std::net::SocketAddr;

use anyhow::Result;
use clap::Parser;
use meantime_peers::worker;

#[derive(Parser)]
struct Arguments {
    /// Address of the server
    #[arg(long)]
    address: SocketAddr,
    /// How many connections claim tasks
    #[arg(long, default_value_t = 4)]
    connections: usize,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let Arguments { address, connections } = Arguments::parse();
    worker::run(address, connections).await
}
