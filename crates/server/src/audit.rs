//! Says in the log what operators read although a journey has a read guard.
//!
//! Guards hold on the surface of journeys, for everybody. Operators with the permission to read see
//! instances without them in the general API; each such reading leaves a line with the target
//! `meantime::audit`: who, by which operation, and what.

use meantime_core::{DefinitionId, InstanceId};
use meantime_journey::surface;

use crate::app::App;
use crate::auth::Caller;

/// The target of the lines.
const AUDIT_TARGET: &str = "meantime::audit";

/// How many instances one line names; how many there were is always said.
const MAX_LOGGED_INSTANCES: usize = 20;

/// Somebody reads instances.
pub(crate) async fn log_guarded_read(
    app: &App,
    caller: &Caller,
    operation: &'static str,
    instances: Vec<(InstanceId, DefinitionId)>,
) {
    let (mut named, mut count) = (Vec::new(), 0_usize);
    for (instance, definition) in instances {
        if is_guarded(app, definition).await {
            count += 1;
            if named.len() < MAX_LOGGED_INSTANCES {
                named.push(instance.to_string());
            }
        }
    }
    if count > 0 {
        let (by, instances) = (&caller.name, named.join(" "));
        tracing::info!(target: AUDIT_TARGET, %by, operation, count, %instances, "read past a read guard");
    }
}

/// Somebody reads what belongs to instances, by whichever definition they have.
pub(crate) async fn log_guarded_reads_of(
    app: &App,
    caller: &Caller,
    operation: &'static str,
    instances: Vec<InstanceId>,
) {
    let mut found = Vec::new();
    for instance in instances {
        let definition = app.feed().definition_of(instance).await.ok().flatten();
        found.extend(definition.map(|definition| (instance, definition)));
    }
    log_guarded_read(app, caller, operation, found).await;
}

/// Whether a guard decides who may read instances of a definition.
pub(crate) async fn is_guarded(app: &App, definition: DefinitionId) -> bool {
    let entry = app.definitions().get(definition).await;
    entry.is_ok_and(|it| {
        it.compiled().is_some_and(|(_, definition)| surface::is_guarded(definition))
    })
}
