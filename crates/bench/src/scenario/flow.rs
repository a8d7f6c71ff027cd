//! Flow scripts with in-process workers that do nothing: the cost of the language and the kernel.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use meantime_core::{InstanceId, Source};
use meantime_flow::{Flow, NOTATION};
use meantime_kernel::clock::Stopwatch;
use meantime_kernel::command::{Command, Reply, Wait};
use meantime_kernel::driver::Kernel;
use meantime_kernel::store::{InstanceRow, Store};
use tokio::task::JoinSet;

use super::super::kernel_rig::{KernelRig, start};
use super::super::process::processor_ms;
use super::super::report::{self, Figure, float};
use super::super::sample::Sample;
use super::super::session::Session;
use super::super::starters::pause;
use super::super::workers::Workers;

const NAME: &str = "flow";
const CALLERS: usize = 256;
const WORKERS: usize = 4;

/// The time limit of one workflow.
const RUN_TIMEOUT: Duration = Duration::from_mins(1);

const SCRIPTS: &str = r#"
workflow one(inputs) {
  let r = await Task.run("noop", {}); return r
}
workflow five(inputs) {
  for (let i = 0; i < 5; i++) { await Task.run("noop", { i }) }
  return 5
}
workflow hundred(inputs) {
  let all = []
  for (let i = 0; i < 100; i++) { all.push(Task.run("noop", i)) }
  return (await Task.all(all)).length
}
workflow thousand(inputs) {
  let all = []
  for (let i = 0; i < 1000; i++) { all.push(Task.run("noop", i)) }
  return (await Task.all(all)).length
}
workflow loop(inputs) {
  let n = 0
  for (let i = 0; i < 1000000; i++) { n += i }
  return n
}
workflow delay(inputs) {
  await Task.delay(1)
  return 1
}
"#;

pub(crate) async fn flow(session: &mut Session) -> Result<()> {
    state_sizes(session).await?;
    let appended = session.appended().await?;
    for (definition, callers, tasks, target) in
        [("one", CALLERS, 1, 0.25), ("five", CALLERS, 5, 0.08), ("hundred", 32, 100, 0.4)]
    {
        let rate = workflows(session, definition, callers).await?;
        let figure = match tasks {
            100 => Figure::new(NAME, "tasks of 100-way Task.all", rate * 100.0, "/s"),
            _ => Figure::new(NAME, format!("workflows of {tasks} tasks in a row"), rate, "/s"),
        };
        session.add(figure.of("J", appended).at_least(target));
    }
    fan_out(session).await?;
    long_loop(session).await?;
    delays(session).await
}

/// A kernel that knows flow scripts.
async fn rig(session: &Session) -> Result<KernelRig> {
    let rig = KernelRig::with(&session.common.db, NOTATION, Arc::new(Flow)).await?;
    let text = SCRIPTS.into();
    let source = Source { name: "bench".to_owned(), text, files: Vec::new() };
    rig.kernel.deploy(NOTATION, source).await?;
    Ok(rig)
}

/// The size of the stored state while an instance waits.
async fn state_sizes(session: &mut Session) -> Result<()> {
    session.progress.step("sizes of states", 0);
    let rig = rig(session).await?;
    for (definition, what, limit) in [
        ("one", "state of a workflow that waits for one task", 400.0),
        ("hundred", "state of a 100-way Task.all", 8_192.0),
    ] {
        let instance = begin(&rig.kernel, definition).await?;
        let row = read(&rig, instance).await?;
        let bytes = report::count(row.state.bytes.len());
        session.add(Figure::new(NAME, what, bytes, "bytes").at_most(limit));
    }
    rig.end().await
}

/// Workflows from start to end per second.
async fn workflows(session: &mut Session, definition: &'static str, callers: usize) -> Result<f64> {
    session.progress.step(format!("workflows: {definition}"), 0);
    let rig = rig(session).await?;
    let workers = Workers::begin(&rig.kernel, WORKERS);
    run_for(&rig.kernel, definition, callers, session.warm_up()).await?;
    let rate = run_for(&rig.kernel, definition, callers, session.time()).await?;
    workers.end().await?;
    rig.end().await?;
    Ok(rate)
}

async fn run_for(
    kernel: &Kernel,
    definition: &'static str,
    callers: usize,
    time: Duration,
) -> Result<f64> {
    let watch = Stopwatch::start();
    let mut set = JoinSet::new();
    for _ in 0..callers {
        let kernel = kernel.clone();
        set.spawn(async move {
            let mut done = 0_u64;
            while watch.elapsed() < time {
                to_the_end(&kernel, definition).await?;
                done += 1;
            }
            anyhow::Ok(done)
        });
    }
    let done: Result<Vec<u64>> = set.join_all().await.into_iter().collect();
    Ok(float(done?.into_iter().sum()) / watch.elapsed().as_secs_f64())
}

/// Results that arrive in batches need few turns.
async fn fan_out(session: &mut Session) -> Result<()> {
    session.progress.step("1,000-way Task.all", 0);
    let rig = rig(session).await?;
    let workers = Workers::begin(&rig.kernel, WORKERS);
    let mut turns = Sample::default();
    let watch = Stopwatch::start();
    let mut rounds = 0;
    while watch.elapsed() < session.warm_up() || rounds < 3 {
        let instance = to_the_end(&rig.kernel, "thousand").await?;
        turns.add(float(read(&rig, instance).await?.turn_no));
        rounds += 1;
    }
    let seconds = watch.elapsed().as_secs_f64() / report::count(rounds);
    session.add(Figure::new(NAME, "1,000-way Task.all, start to end", seconds * 1_000.0, "ms"));
    let figure = Figure::new(NAME, "1,000-way Task.all, turns p50", turns.percentile(50.0), "");
    session.add(figure);
    workers.end().await?;
    rig.end().await
}

/// A loop of a million rounds without a wait: it must be cheap, and take several turns.
async fn long_loop(session: &mut Session) -> Result<()> {
    session.progress.step("a loop of 1,000,000 rounds", 0);
    let rig = rig(session).await?;
    let mut used = Sample::default();
    let mut turns = 0;
    for _ in 0..5 {
        let before = processor_ms();
        let instance = to_the_end(&rig.kernel, "loop").await?;
        used.add(float(processor_ms() - before));
        turns = read(&rig, instance).await?.turn_no;
    }
    let what = "a loop of 1,000,000 rounds, processor";
    session.add(Figure::new(NAME, what, used.percentile(50.0), "ms").at_most(100.0));
    let what = "a loop of 1,000,000 rounds, turns";
    session.add(Figure::new(NAME, what, float(turns), "").at_least(2.0));
    rig.end().await
}

/// Ten thousand delays of one second, started nearly together.
async fn delays(session: &mut Session) -> Result<()> {
    let count = session.common.scaled(10_000);
    let random = session.random().await?;
    session.progress.step(format!("{count} delays of a second"), count);
    let rig = rig(session).await?;
    rig.store.take_observations();
    let next = Arc::new(AtomicUsize::new(0));
    let mut set = JoinSet::new();
    for _ in 0..1_000 {
        let (kernel, next) = (rig.kernel.clone(), next.clone());
        let progress = session.progress.clone();
        set.spawn(async move {
            while next.fetch_add(1, Ordering::Relaxed) < count {
                begin(&kernel, "delay").await?;
                progress.tick();
            }
            anyhow::Ok(())
        });
    }
    set.join_all().await.into_iter().collect::<Result<()>>()?;
    rig.wait_until_fired(u64::try_from(count)?).await?;
    // Gives the answers of the last commits time to arrive.
    pause(Duration::from_millis(50)).await;
    let observations = rig.store.take_observations();
    let limit = 2.0 * report::count(count) / random * 1_000.0;
    let at = |percent: f64| {
        let name = format!("{count} delays of a second, lateness p{percent}");
        Figure::new(NAME, name, observations.lateness.percentile(percent), "ms")
    };
    session.add(at(50.0));
    session.add(at(99.0).at_most(limit));
    rig.end().await
}

async fn begin(kernel: &Kernel, definition: &str) -> Result<InstanceId> {
    let reply = kernel.call(Command::Start(start(definition))).await;
    started(reply.context("a start was refused")?)
}

async fn to_the_end(kernel: &Kernel, definition: &str) -> Result<InstanceId> {
    let command = Command::Start(start(definition));
    let reply = kernel.call_and_wait(command, Wait::Idle, Some(RUN_TIMEOUT)).await;
    started(reply.context("a start was refused")?)
}

fn started(reply: Reply) -> Result<InstanceId> {
    match reply {
        Reply::Started { instance, .. } => Ok(instance),
        other => bail!("a start was answered with {other:?}"),
    }
}

async fn read(rig: &KernelRig, instance: InstanceId) -> Result<InstanceRow> {
    rig.store.instance(instance).await?.context("the instance is not there")
}
