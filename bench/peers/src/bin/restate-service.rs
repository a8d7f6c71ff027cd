//! A service of Restate whose handlers do one durable step, and five in a row.
//!
//! As the SDK documents it: its HTTP server, its default settings, all cores.

#![expect(missing_docs, reason = "the macro of the SDK makes public items without any")]

use std::net::SocketAddr;

use anyhow::Result;
use clap::Parser;
use restate_sdk::prelude::*;

#[derive(Parser)]
struct Arguments {
    /// Address to listen on
    #[arg(long)]
    listen: SocketAddr,
}

struct Steps;

#[service]
impl Steps {
    #[handler]
    async fn one(&self, context: Context<'_>) -> HandlerResult<u32> {
        noop(&context).await
    }

    #[handler]
    async fn five(&self, context: Context<'_>) -> HandlerResult<u32> {
        let mut sum = 0;
        for _ in 0..5 {
            sum += noop(&context).await?;
        }
        Ok(sum)
    }
}

/// A step that does nothing and whose result is durable before the next one begins.
async fn noop(context: &Context<'_>) -> HandlerResult<u32> {
    Ok(context.run(|| async { Ok(1_u32) }).name("noop").await?)
}

#[tokio::main]
async fn main() -> Result<()> {
    let Arguments { listen } = Arguments::parse();
    HttpServer::new(Endpoint::builder().bind(Steps).build()).listen_and_serve(listen).await;
    Ok(())
}
