//! The rigs as a program: `cargo xtask soak` runs it, and the kill rig runs it as the node to kill.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a rig talks to people")]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use meantime_sim::kill::{KillPlan, StoreKind, StoreLocation, kill_rounds, run_node};
use meantime_sim::power::{InjectedFault, PowerReport, cut_power};

/// Rigs that try to lose what was acknowledged.
#[derive(Parser)]
struct RigArgs {
    #[command(subcommand)]
    rig: RigCommand,
}

#[derive(Subcommand)]
enum RigCommand {
    /// Kill a process under load repeatedly
    Kill {
        #[arg(long, default_value_t = 200)]
        rounds: usize,
        /// The store; PostgreSQL runs as a private cluster
        #[arg(long, value_enum, default_value_t = DatabaseKind::Sqlite)]
        db: DatabaseKind,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Cut the power under a database repeatedly
    Power {
        #[arg(long, default_value_t = 2_000)]
        images: usize,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// The process that is killed
    #[command(hide = true)]
    Node {
        #[arg(long, conflicts_with = "postgres", required_unless_present = "postgres")]
        sqlite: Option<PathBuf>,
        #[arg(long)]
        postgres: Option<String>,
        /// Answer before the commit, to test the audit
        #[arg(long)]
        early_ack: bool,
    },
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum DatabaseKind {
    Sqlite,
    Postgres,
}

#[derive(clap::Args)]
struct CommonArgs {
    /// Seed of the random choices, including the times of kills and power cuts
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Directory of scratch files
    #[arg(long, default_value = ".")]
    directory: PathBuf,
}

fn main() -> ExitCode {
    match RigArgs::parse().rig {
        RigCommand::Kill { rounds, db, common } => run_kill_rig(rounds, db, &common),
        RigCommand::Power { images, common } => run_power_rig(images, &common),
        RigCommand::Node { sqlite, postgres, early_ack } => {
            run_node_command(sqlite, postgres, early_ack)
        }
    }
}

fn run_node_command(
    sqlite: Option<PathBuf>,
    postgres: Option<String>,
    early_ack: bool,
) -> ExitCode {
    let Some(location) =
        sqlite.map(StoreLocation::Sqlite).or(postgres.map(StoreLocation::Postgres))
    else {
        return ExitCode::FAILURE;
    };
    match location.open() {
        Ok(store) => {
            run_node(store, early_ack);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("the node cannot open its store: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run_kill_rig(rounds: usize, db: DatabaseKind, common: &CommonArgs) -> ExitCode {
    let binary = std::env::current_exe().expect("the binary knows its place");
    let (directory, seed) = (common.directory.clone(), common.seed);
    let kind = match db {
        DatabaseKind::Sqlite => StoreKind::Sqlite,
        DatabaseKind::Postgres => StoreKind::Postgres,
    };
    let plan = KillPlan { binary, kind, directory, seed, rounds, early_ack: false };
    let report = kill_rounds(&plan, |report| {
        if report.kills.is_multiple_of(10) {
            eprintln!("{} of {rounds} kills", report.kills);
        }
    });
    println!("kills                          {}", report.kills);
    println!("answers                        {}", report.answers);
    println!("requests cut off by a kill     {}", report.interrupted);
    println!("  of which had taken effect    {}", report.applied_unanswered);
    println!("starts asked again and known   {}", report.repeated);
    println!("late reports, refused          {}", report.stale);
    println!("instances, all ended           {}", report.instances);
    println!("turns                          {}", report.turns);
    println!("timers fired                   {}", report.fired);
    println!("tasks with their one outcome   {}", report.done);
    let is_valid = report.interrupted > 0 && report.instances > 0;
    print_verdict(is_valid, &report.lost, &report.problems)
}

fn run_power_rig(images: usize, common: &CommonArgs) -> ExitCode {
    let report = cut_power(&common.directory, common.seed, images, InjectedFault::None, |report| {
        eprintln!("{} of {images} images", report.images);
    });
    let PowerReport { images, dropped, torn, reordered, acknowledged, continued, lost, problems } =
        report;
    println!("images                         {images}");
    println!("writes dropped, torn, moved    {dropped}, {torn}, {reordered}");
    println!("acknowledgements looked for    {acknowledged}");
    println!("images a process went on with  {continued}");
    print_verdict(dropped > 0 && torn > 0 && acknowledged > 0, &lost, &problems)
}

/// A run without faults or without work proves nothing, so it fails too.
fn print_verdict(is_valid: bool, lost: &[String], problems: &[String]) -> ExitCode {
    println!("acknowledged and lost          {}", lost.len());
    println!("anything else wrong            {}", problems.len());
    for problem in lost.iter().chain(problems).take(50) {
        println!("  {problem}");
    }
    if !is_valid {
        println!("void: nothing was hit, or nothing was done");
    }
    if is_valid && lost.is_empty() && problems.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
