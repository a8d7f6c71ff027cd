//! The rigs as a program: `cargo xtask soak` runs it, and the kill rig runs it as its victim.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a rig talks to people")]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use meantime_sim::kill::{Kind, Place, Rounds, kill_rounds, run_node};
use meantime_sim::power::{Plant, PowerReport, cut_power};

/// Rigs that try to lose what was acknowledged.
#[derive(Parser)]
struct Rig {
    #[command(subcommand)]
    rig: Which,
}

#[derive(Subcommand)]
enum Which {
    /// Kill a process under load, again and again
    Kill {
        #[arg(long, default_value_t = 200)]
        rounds: usize,
        /// On which store; PostgreSQL is a private cluster
        #[arg(long, value_enum, default_value_t = Db::Sqlite)]
        db: Db,
        #[command(flatten)]
        common: Common,
    },
    /// Cut the power under a database, again and again
    Power {
        #[arg(long, default_value_t = 2_000)]
        images: usize,
        #[command(flatten)]
        common: Common,
    },
    /// The process that is killed
    #[command(hide = true)]
    Node {
        #[arg(long, conflicts_with = "postgres", required_unless_present = "postgres")]
        sqlite: Option<PathBuf>,
        #[arg(long)]
        postgres: Option<String>,
        /// Answers before it has committed
        #[arg(long)]
        hasty: bool,
    },
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Db {
    Sqlite,
    Postgres,
}

#[derive(clap::Args)]
struct Common {
    /// Where chance begins; the moments of kills and cuts follow from it
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where scratch files go
    #[arg(long, default_value = ".")]
    directory: PathBuf,
}

fn main() -> ExitCode {
    match Rig::parse().rig {
        Which::Kill { rounds, db, common } => kill(rounds, db, &common),
        Which::Power { images, common } => power(images, &common),
        Which::Node { sqlite, postgres, hasty } => node(sqlite, postgres, hasty),
    }
}

fn node(sqlite: Option<PathBuf>, postgres: Option<String>, hasty: bool) -> ExitCode {
    let Some(place) = sqlite.map(Place::Sqlite).or(postgres.map(Place::Postgres)) else {
        return ExitCode::FAILURE;
    };
    match place.open() {
        Ok(store) => {
            run_node(store, hasty);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("the node cannot open its store: {error}");
            ExitCode::FAILURE
        }
    }
}

fn kill(rounds: usize, db: Db, common: &Common) -> ExitCode {
    let binary = std::env::current_exe().expect("the binary knows its place");
    let (directory, seed) = (common.directory.clone(), common.seed);
    let kind = match db {
        Db::Sqlite => Kind::Sqlite,
        Db::Postgres => Kind::Postgres,
    };
    let what = Rounds { binary, kind, directory, seed, rounds, is_hasty: false };
    let report = kill_rounds(&what, |report| {
        if report.kills.is_multiple_of(10) {
            eprintln!("{} of {rounds} kills", report.kills);
        }
    });
    println!("kills                          {}", report.kills);
    println!("answers                        {}", report.answers);
    println!("requests cut off by a kill     {}", report.interrupted);
    println!("  of which had taken effect    {}", report.taken_unheard);
    println!("starts asked again and known   {}", report.repeated);
    println!("late reports, refused          {}", report.stale);
    println!("instances, all ended           {}", report.instances);
    println!("turns                          {}", report.turns);
    println!("timers fired                   {}", report.fired);
    println!("tasks with their one outcome   {}", report.done);
    let is_valid = report.interrupted > 0 && report.instances > 0;
    verdict(is_valid, &report.lost, &report.wrong)
}

fn power(images: usize, common: &Common) -> ExitCode {
    let report = cut_power(&common.directory, common.seed, images, Plant::None, |report| {
        eprintln!("{} of {images} images", report.images);
    });
    let PowerReport { images, dropped, torn, reordered, acknowledged, continued, lost, wrong } =
        report;
    println!("images                         {images}");
    println!("writes dropped, torn, moved    {dropped}, {torn}, {reordered}");
    println!("acknowledgements looked for    {acknowledged}");
    println!("images a process went on with  {continued}");
    verdict(dropped > 0 && torn > 0 && acknowledged > 0, &lost, &wrong)
}

/// A run without faults or without work proves nothing.
fn verdict(is_valid: bool, lost: &[String], wrong: &[String]) -> ExitCode {
    println!("acknowledged and lost          {}", lost.len());
    println!("anything else wrong            {}", wrong.len());
    for problem in lost.iter().chain(wrong).take(50) {
        println!("  {problem}");
    }
    if !is_valid {
        println!("void: nothing was hit, or nothing was done");
    }
    if is_valid && lost.is_empty() && wrong.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
