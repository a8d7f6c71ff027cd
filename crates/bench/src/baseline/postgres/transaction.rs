//! A transaction whose statements are all sent before the first answer is read.

use anyhow::Result;
use futures_util::future::try_join_all;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Statement};

/// A statement and its parameters.
pub(super) type Step<'a> = (&'a Statement, &'a [&'a (dyn ToSql + Sync)]);

pub(super) async fn transaction(client: &Client, steps: &[Step<'_>]) -> Result<()> {
    // Statements are sent in the order in which their futures are first polled.
    let steps =
        try_join_all(steps.iter().map(|(statement, values)| client.execute(*statement, values)));
    tokio::try_join!(biased; client.batch_execute("BEGIN"), steps, client.batch_execute("COMMIT"))?;
    Ok(())
}
