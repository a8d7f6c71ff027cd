//! Instances of one turn and of five turns, with 64 callers.

use anyhow::Result;

use super::super::kernel_rig::KernelRig;
use super::super::report::{Figure, float};
use super::super::session::Session;
use super::super::starters::start_for_duration;

const NAME: &str = "turns";
const CALLERS: usize = 64;

pub(crate) async fn turns(session: &mut Session) -> Result<()> {
    let appended = session.appended().await?;
    for (definition, turns, sqlite, postgres) in
        [("once", 1, 0.4, Some(0.25)), ("five", 5, 0.15, None)]
    {
        session.progress.step(format!("instances of {turns} turns"), 0);
        let rig = KernelRig::new(&session.common.db).await?;
        start_for_duration(&rig.kernel, definition, CALLERS, session.warm_up()).await?;
        let before = rig.counts();
        let load = start_for_duration(&rig.kernel, definition, CALLERS, session.time()).await?;
        let after = rig.counts();
        rig.end().await?;
        let what = format!("{turns}-turn instances, {CALLERS} callers");
        let figure = Figure::new(NAME, &what, load.per_second(), "/s");
        let figure = figure.of(session.common.db.baselines().0, appended);
        let target = if session.common.db.is_sqlite() { Some(sqlite) } else { postgres };
        session.add(match target {
            Some(target) => figure.at_least(target),
            None => figure,
        });
        for percent in [50.0, 99.0] {
            let value = load.latency.percentile(percent);
            session.add(Figure::new(NAME, format!("{what}, p{percent}"), value, "ms"));
        }
        let turns_per_commit =
            float(after.turns - before.turns) / float(after.commits - before.commits);
        session.add(Figure::new(NAME, format!("{what}, turns in a commit"), turns_per_commit, ""));
    }
    Ok(())
}
