//! Calls an address for a while, checks every answer, and prints one line of JSON.

use std::time::Duration;

use anyhow::{Result, ensure};
use clap::Parser;
use meantime_peers::callers::{self, Call, Plan};
use meantime_peers::connection::Target;
use meantime_peers::process_tree::NamedProcess;
use serde_json::{Map, json};

#[derive(Parser)]
struct Arguments {
    /// Where to call, such as `http://127.0.0.1:8080/path?query`
    #[arg(long)]
    url: Target,
    /// Body of the request, as JSON
    #[arg(long, default_value = "")]
    body: String,
    /// Status of every answer
    #[arg(long, default_value_t = 200)]
    status: u16,
    /// What the body of every answer contains
    #[arg(long, default_value = "")]
    answer: String,
    /// How many callers, each with a connection of its own
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Seconds before the measurement begins
    #[arg(long, default_value_t = 2.0)]
    warm_up: f64,
    /// Seconds to measure
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// A process whose processor time and memory are read, as `NAME=PID`
    #[arg(long = "process")]
    processes: Vec<NamedProcess>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let Arguments { url, body, status, answer, mut processes, .. } = arguments;
    // The callers share the cores with what they measure.
    processes.push(NamedProcess { name: "callers".to_owned(), id: std::process::id() });
    let plan = Plan {
        connections: arguments.connections,
        warm_up: Duration::from_secs_f64(arguments.warm_up),
        time: Duration::from_secs_f64(arguments.seconds),
    };
    let load = callers::run(Call { target: url, body, status, answer }, plan, &processes).await?;
    ensure!(!load.latency.is_empty(), "no answer came within the measured time: measure longer");
    let mut usage = Map::new();
    for (process, seconds) in processes.iter().zip(&load.processor_seconds) {
        let resident_mib = process.resident_mib();
        let usage_of_one = json!({ "processorSeconds": seconds, "residentMib": resident_mib });
        usage.insert(process.name.clone(), usage_of_one);
    }
    let report = json!({
        "calls": load.latency.len(),
        "refused": load.refused,
        "seconds": load.seconds,
        "p50Ms": load.latency.percentile(50.0),
        "p99Ms": load.latency.percentile(99.0),
        "maxMs": load.latency.percentile(100.0),
        "processes": usage,
        "othersSeconds": load.others_seconds,
    });
    println!("{report}");
    Ok(())
}
