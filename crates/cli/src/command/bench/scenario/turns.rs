//! Instances of one turn and of five turns, with 64 callers.

use anyhow::Result;

use super::super::load::start_for;
use super::super::report::{Figure, float};
use super::super::rig::Rig;
use super::super::session::Session;

const NAME: &str = "turns";
const CALLERS: usize = 64;

pub(crate) async fn turns(session: &mut Session) -> Result<()> {
    let appended = session.appended()?;
    for (definition, turns, target) in [("once", 1, 0.4), ("five", 5, 0.15)] {
        session.progress.step(format!("instances of {turns} turns"), 0);
        let rig = Rig::new(&session.common.db).await?;
        start_for(&rig.kernel, definition, CALLERS, session.warm_up()).await?;
        let before = rig.stats();
        let load = start_for(&rig.kernel, definition, CALLERS, session.time()).await?;
        let after = rig.stats();
        rig.end().await?;
        let what = format!("{turns}-turn instances, {CALLERS} callers");
        let figure = Figure::new(NAME, &what, load.per_second(), "/s");
        session.add(figure.of("J", appended).at_least(target));
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
