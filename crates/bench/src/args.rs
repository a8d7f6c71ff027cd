//! The command line of `bench`.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::path::PathBuf;

use anyhow::Result;

use super::bench_store::BenchStore;
use super::http::{Poison, WorkerKind};
use super::report::BenchOutput;
use super::session;

/// Measures this engine on this machine.
#[derive(Debug, clap::Args)]
pub struct Bench {
    #[command(subcommand)]
    command: BenchCommand,
}

#[derive(Debug, clap::Subcommand)]
enum BenchCommand {
    /// The kernel in process, without a network: turns, timers, sleepers, restarts
    Kernel(KernelArgs),
    /// Flow scripts with workers in process: tasks in sequence and in parallel, delays
    Flow(FlowArgs),
    /// A server in its own process, over sockets: starts, tasks in batches, sleepers
    Http(HttpArgs),
    /// Instances of one and of five tasks over HTTP, from the start to the answer at their end
    RoundTrip(RoundTripArgs),
    /// Journeys over HTTP: transforms and choices, and whether many waiting ones slow others down
    Journey(HttpArgs),
    /// BPMN processes over HTTP: service tasks, script tasks, boundary timers
    Bpmn(HttpArgs),
    /// A server at half, at full and at three times its capacity
    Overload(HttpArgs),
    /// Hostile definitions, one at a time, beside a load of good ones: do they slow or stop it, or
    /// survive a restart and a cancel
    Isolation(IsolationArgs),
}

/// Options of every bench.
#[derive(Debug, clap::Args)]
pub(super) struct CommonArgs {
    /// Where to measure: a directory in which SQLite files are created and removed, or the
    /// address of a PostgreSQL database that is emptied (`postgres://…/meantime_bench`)
    #[arg(long, value_name = "sqlite:DIRECTORY|postgres://…", default_value = "sqlite:.")]
    pub(super) db: BenchStore,

    /// Multiplies every number of instances; 0.01 gives a quick run
    #[arg(long, default_value_t = 1.0)]
    pub(super) scale: f64,

    /// How long each rate is measured, after a warm-up of a fifth of it
    #[arg(long, default_value_t = 10)]
    pub(super) seconds: u64,

    /// How the figures are printed
    #[arg(long, value_parser = report_format(), default_value = "table")]
    pub(super) format: OutputFormat,
}

/// A report is printed as a table or as JSON; lists of the other commands have more formats.
fn report_format() -> impl TypedValueParser<Value = OutputFormat> {
    PossibleValuesParser::new(["table", "json"]).map(|name| match name.as_str() {
        "json" => OutputFormat::Json,
        _ => OutputFormat::Table,
    })
}

/// The output format. It is public because a global option of the same name in the surrounding
/// command line must have the same type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum OutputFormat {
    /// Table for people
    Table,
    /// Table with more columns
    Wide,
    /// One JSON document
    Json,
    /// JSON, one line for each entry
    Jsonl,
    /// YAML
    Yaml,
}

/// Options of `bench kernel`.
#[derive(Debug, clap::Args)]
pub(super) struct KernelArgs {
    #[command(flatten)]
    pub(super) common: CommonArgs,

    /// Only these scenarios; all but `growth` when none is named
    #[arg(long, value_enum, value_delimiter = ',', value_name = "SCENARIO")]
    only: Vec<Scenario>,

    /// Also `growth`: up to 10,000,000 timers, 12 GB of disk and about 20 minutes
    #[arg(long)]
    long: bool,
}

/// Options of `bench flow`.
#[derive(Debug, clap::Args)]
pub(super) struct FlowArgs {
    #[command(flatten)]
    pub(super) common: CommonArgs,
}

/// Options of the benches over HTTP.
#[derive(Debug, clap::Args)]
pub(super) struct HttpArgs {
    #[command(flatten)]
    pub(super) common: CommonArgs,
}

/// Options of `bench round-trip`.
#[derive(Debug, clap::Args)]
pub(super) struct RoundTripArgs {
    #[command(flatten)]
    pub(super) common: CommonArgs,

    /// The binary of the server; this one if none is named
    #[arg(long, value_name = "FILE")]
    pub(super) server: Option<PathBuf>,

    /// Another binary, measured in turn with the first one
    #[arg(long, value_name = "FILE")]
    pub(super) against: Option<PathBuf>,

    /// How often each server is measured; the figures are medians
    #[arg(long, default_value_t = 1)]
    pub(super) rounds: usize,

    /// How the workers of the first server work
    #[arg(long, value_enum, default_value_t = WorkerKind::Combined)]
    pub(super) worker: WorkerKind,

    /// How the workers of the other server work; like those of the first one if not given
    #[arg(long, value_enum, value_name = "WORKER")]
    pub(super) against_worker: Option<WorkerKind>,
}

/// Options of `bench isolation`.
#[derive(Debug, clap::Args)]
pub(super) struct IsolationArgs {
    #[command(flatten)]
    pub(super) common: CommonArgs,

    /// Seed of the generated definitions; the same seed gives the same ones
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,

    /// Number of variants, alternating between the kinds
    #[arg(long, default_value_t = 24)]
    pub(super) variants: usize,

    /// How many of each kind are left out at the beginning
    #[arg(long, default_value_t = 0)]
    pub(super) skip: usize,

    /// Only these kinds
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KIND")]
    pub(super) only: Vec<Poison>,
}

/// The scenarios of `bench kernel`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(super) enum Scenario {
    /// The cost of a one-task instance in rows, B-trees, bytes of log, commits and syncs
    Task,
    /// Instances of one turn and of five turns
    Turns,
    /// Arming a million sleepers, then storms of timers among them
    Timers,
    /// A million sleeping instances: memory, disk, idle, and a restart after kill -9
    Sleeping,
    /// A large state over a thousand turns
    State,
    /// A flood of starts of one definition, and how long another one waits
    Flood,
    /// The cost of arming, reading and firing by the number of timers
    Growth,
    /// Two nodes on one PostgreSQL database: throughput, wake-up latency, statements when idle
    Nodes,
}

impl Scenario {
    /// Whether the scenario can run on this store.
    pub(super) fn is_for(self, bench_store: &BenchStore) -> bool {
        match self {
            Self::Task | Self::Sleeping | Self::State | Self::Growth => bench_store.is_sqlite(),
            Self::Nodes => !bench_store.is_sqlite(),
            Self::Turns | Self::Timers | Self::Flood => true,
        }
    }
}

impl Bench {
    /// Runs the bench to its end.
    pub fn run(self) -> Result<BenchOutput> {
        match self.command {
            BenchCommand::Kernel(args) => session::run_kernel(args),
            BenchCommand::Flow(args) => session::run_flow(args),
            BenchCommand::Http(args) => session::run_http(args),
            BenchCommand::RoundTrip(args) => session::run_round_trip(args),
            BenchCommand::Journey(args) => session::run_journey(args),
            BenchCommand::Bpmn(args) => session::run_bpmn(args),
            BenchCommand::Overload(args) => session::run_overload(args),
            BenchCommand::Isolation(args) => session::run_isolation(args),
        }
    }
}

impl KernelArgs {
    /// Whether a scenario was named on the command line.
    pub(super) fn names(&self, scenario: Scenario) -> bool {
        self.only.contains(&scenario)
    }

    /// Whether a scenario will run.
    pub(super) fn wants(&self, scenario: Scenario) -> bool {
        if !self.only.is_empty() {
            return self.names(scenario);
        }
        let is_for_it = scenario.is_for(&self.common.db);
        is_for_it && (scenario != Scenario::Growth || self.long)
    }
}

impl CommonArgs {
    /// A scaled number of instances, never so small that nothing is measured.
    #[expect(clippy::cast_precision_loss, clippy::cast_sign_loss, reason = "counts are small")]
    #[expect(clippy::cast_possible_truncation, reason = "and positive")]
    pub(super) fn scaled(&self, count: usize) -> usize {
        ((count as f64 * self.scale) as usize).max(100)
    }
}
