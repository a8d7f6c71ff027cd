//! A flood of one definition, and how long the starts of another one wait.

use anyhow::Result;

use super::super::kernel_rig::KernelRig;
use super::super::report::Figure;
use super::super::session::Session;
use super::super::starters::{Starters, start_for_duration};

const NAME: &str = "flood";
const FLOOD: usize = 1_000;

pub(crate) async fn flood(session: &mut Session) -> Result<()> {
    session.progress.step("a flood of one definition", 0);
    let rig = KernelRig::new(&session.common.db).await?;
    let alone = start_for_duration(&rig.kernel, "other", 1, session.warm_up()).await?;
    let flood = Starters::begin(&rig.kernel, "five", FLOOD);
    let beside = start_for_duration(&rig.kernel, "other", 1, session.time()).await?;
    let flood = flood.end().await?;
    rig.end().await?;
    let rate = flood.per_second();
    session.add(Figure::new(NAME, format!("5-turn instances, {FLOOD} callers"), rate, "/s"));
    for (when, load) in [("alone", &alone), ("in the flood", &beside)] {
        for percent in [50.0, 99.0] {
            let name = format!("starts of another definition {when}, p{percent}");
            session.add(Figure::new(NAME, name, load.latency.percentile(percent), "ms"));
        }
    }
    Ok(())
}
