//! Checks for damage in a database that nodes may be using, on one read-only connection.

use std::sync::Arc;

use meantime_kernel::store::{DefinitionRow, Error, InstanceRow};

use super::check;
use super::connect::Connector;
use super::migration::{MIGRATIONS, applied};
use super::monitor::ConnectionMonitor;
use super::options::Options;
use super::pool::SNAPSHOT;
use super::stats::PostgresCounters;

/// Every problem as a line of text; `None` if the database contains no store. Calls `visit` with
/// every live instance that can be read.
pub(super) async fn examine(
    options: &Options,
    visit: &mut (dyn FnMut(&DefinitionRow, &InstanceRow) + Send),
) -> Result<Option<Vec<String>>, Error> {
    let counters = Arc::new(PostgresCounters::default());
    // Probes are not answered here: only the timeouts of statements apply.
    let (monitor, _probes) = ConnectionMonitor::new(Arc::clone(&counters));
    let connection = Connector::new(options, counters, monitor)?.connect().await?;
    let applied = applied(&connection).await?;
    if applied == 0 {
        return Ok(None);
    }
    if applied < MIGRATIONS.len() {
        let text =
            "the schema is that of an earlier release; `meantime migrate` brings it up to date";
        return Ok(Some(vec![text.to_owned()]));
    }
    connection.script(SNAPSHOT).await?;
    let problems = check::check(&connection).await?;
    check::visit_live(&connection, visit).await?;
    Ok(Some(problems))
}
