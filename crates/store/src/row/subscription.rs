//! Subscriptions to messages and broadcasts.

use meantime_kernel::store::{ChannelKey, Error, SubscriptionRow};

use super::Columns;

/// Reads `seq, id_order, turn_no, ordinal, id_random, definition` from a column on.
pub(crate) fn read(
    row: &impl Columns,
    from: usize,
    channel: &ChannelKey,
) -> Result<SubscriptionRow, Error> {
    let (seq, key) = (row.number(from)?, row.effect(from + 1, "subscription")?);
    let definition = row.text(from + 5)?;
    Ok(SubscriptionRow { channel: channel.clone(), seq, key, definition })
}
