//! Measures how soon an outage of the database and the death of a node are noticed.
//!
//! `cargo run --release -p meantime-sim --example outage_figures [ROUNDS]`. A private cluster is
//! stopped, frozen and started; a second process is killed. Prints the worst of all rounds.
#![expect(clippy::print_stdout, reason = "it prints figures for a person")]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Command as Process, Stdio};
use std::sync::Arc;

use meantime_core::Source;
use meantime_kernel::clock::Stopwatch;
use meantime_kernel::command::{Command, StartCommand};
use meantime_kernel::driver::{Builder, Kernel, StoreHealth};
use meantime_kernel::machine::Notations;
use meantime_kernel::store::{InstanceFilter, Page, Phase};
use meantime_sim::probe::Probe;
use meantime_store::postgres::cluster::{Cluster, Durability, database_at};
use meantime_store::postgres::{Options, PostgresStore};

const PROBES: &str = "
probe quick
end \"done\"

probe sleeper
timer t PT1S
await t
end \"woke\"
";

/// The worst of each figure.
#[derive(Default)]
struct Figures(BTreeMap<&'static str, u128>);

impl Figures {
    fn note(&mut self, what: &'static str, watch: &Stopwatch) {
        let took = watch.elapsed().as_millis();
        let worst = self.0.entry(what).or_default();
        *worst = took.max(*worst);
    }
}

async fn kernel(url: &str) -> Kernel {
    let store = PostgresStore::open(Options::new(url)).await.expect("the store opens");
    let notations = Notations::default().with("probe", Arc::new(Probe));
    let kernel = Builder::new(Arc::new(store), notations).start().await;
    let kernel = kernel.expect("the kernel starts");
    let source = Source { name: "probes".to_owned(), text: PROBES.into(), files: Vec::new() };
    kernel.deploy("probe", source).await.expect("the probes are good");
    kernel
}

async fn start(kernel: &Kernel, definition: &str) -> bool {
    let definition = definition.to_owned();
    kernel
        .call(Command::Start(StartCommand { definition, ..StartCommand::default() }))
        .await
        .is_ok()
}

async fn ready(kernel: &Kernel, wanted: bool) {
    while kernel.store().ping().await.is_ok() != wanted {
        tokio::task::yield_now().await;
    }
}

/// Measures one kind of outage: how long until it is noticed, and from its end until work
/// continues.
async fn missed(
    kernel: &Kernel,
    figures: &mut Figures,
    names: [&'static str; 3],
    away: &Stopwatch,
) {
    let [unready, refused, _] = names;
    ready(kernel, false).await;
    figures.note(unready, away);
    assert!(!start(kernel, "quick").await);
    figures.note(refused, away);
    let mut standing = kernel.store_health();
    let lost = standing.wait_for(|it| matches!(it, StoreHealth::Unreachable(_))).await;
    drop(lost.expect("the kernel runs"));
}

async fn found(kernel: &Kernel, figures: &mut Figures, name: &'static str, back: &Stopwatch) {
    while !start(kernel, "quick").await {
        tokio::task::yield_now().await;
    }
    figures.note(name, back);
}

async fn all_awake(kernel: &Kernel) -> bool {
    let phases = vec![Phase::Running];
    let filter = InstanceFilter { phases, ..InstanceFilter::default() };
    let left = kernel.store().instances(filter, Page::first(1)).await;
    left.is_ok_and(|rows| rows.is_empty())
}

/// Runs a node with work until the process is killed.
async fn node(url: &str) {
    let kernel = kernel(url).await;
    for _ in 0..200 {
        assert!(start(&kernel, "sleeper").await);
    }
    println!("ready");
    std::future::pending::<()>().await;
}

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let first = arguments.next();
    if first.as_deref() == Some("node") {
        return node(&arguments.next().expect("an address")).await;
    }
    let rounds: u32 = first.and_then(|it| it.parse().ok()).unwrap_or(3);
    let mut cluster = Cluster::start(Durability::Default).expect("PostgreSQL");
    let database = database_at(cluster.address()).expect("a database");
    let kernel = kernel(database.url()).await;
    let mut figures = Figures::default();
    for _ in 0..rounds {
        let stopped = ["stopped: not ready", "stopped: refused", "stopped: works again"];
        cluster.stop().expect("it stops");
        missed(&kernel, &mut figures, stopped, &Stopwatch::start()).await;
        cluster.restart().expect("it starts");
        found(&kernel, &mut figures, stopped[2], &Stopwatch::start()).await;
        let frozen = ["frozen: not ready", "frozen: refused", "frozen: works again"];
        cluster.pause().expect("it stands still");
        missed(&kernel, &mut figures, frozen, &Stopwatch::start()).await;
        cluster.resume().expect("it goes on");
        found(&kernel, &mut figures, frozen[2], &Stopwatch::start()).await;
        let mut other = Process::new(std::env::current_exe().expect("this program"))
            .args(["node", database.url()])
            .stdout(Stdio::piped())
            .spawn()
            .expect("another node");
        let mut said = String::new();
        let output = other.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut said).expect("it is ready");
        other.kill().expect("it is killed");
        other.wait().expect("it is gone");
        let killed = Stopwatch::start();
        while !all_awake(&kernel).await {
            tokio::task::yield_now().await;
        }
        figures.note("killed: its timers of one second have fired", &killed);
    }
    for (what, worst) in figures.0 {
        println!("{worst:>6} ms  {what}");
    }
    kernel.stop().await;
}
