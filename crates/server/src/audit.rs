//! Logs when operators read instances that a read guard protects, and when they pause a
//! definition.
//!
//! Read guards apply to the API of journeys. Operators with the permission to read see the same
//! instances through the general API without a guard, also in the answers to commands; each such
//! read is logged with the target `meantime::audit`: who, which operation, which instances. The
//! level of the log does not silence it.

use meantime_core::{DefinitionId, InstanceId};
use meantime_journey::surface;
use meantime_kernel::history::AuditInfo;

use crate::app::App;
use crate::auth::Caller;

/// The target of the log lines.
pub(crate) const AUDIT_TARGET: &str = "meantime::audit";

/// Maximum number of instance ids in one line; the total count is always logged.
const MAX_LOGGED_INSTANCES: usize = 20;

/// Logs a read of instances, if any of them is guarded.
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

/// Like [`log_guarded_read`], if only the ids of the instances are known.
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

/// Logs that a definition is paused or resumed.
pub(crate) fn log_definition_pause(definition: &str, pauses: bool, audit: &AuditInfo) {
    let AuditInfo { actor: by, reason } = audit;
    let operation = if pauses { "pauseDefinition" } else { "resumeDefinition" };
    tracing::info!(target: AUDIT_TARGET, %by, operation, definition, reason, "changed a definition");
}

/// Whether a definition has a read guard.
pub(crate) async fn is_guarded(app: &App, definition: DefinitionId) -> bool {
    let entry = app.definitions().get(definition).await;
    entry.is_ok_and(|it| {
        it.compiled().is_some_and(|(_, definition)| surface::is_guarded(definition))
    })
}
