//! Armed timers.

use meantime_core::{DefinitionId, InstanceId, TimerId};
use meantime_kernel::open::OpenTimer;
use meantime_kernel::store::{
    Error, InstanceRow, Page, TimerFilter, TimerKey, TimerKind, TimerRow,
};

use super::{Columns, id_order, id_random, int};

const TABLE: &str = "timer";

/// The columns that [`read`] reads, in order.
macro_rules! columns {
    () => {
        "id_order, turn_no, ordinal, id_random, frozen, due_at, kind, definition_id, element"
    };
}
pub(crate) use columns;

/// The condition of a timer that can fire: no armed deadline of its instance comes first.
macro_rules! no_deadline_first {
    () => {
        "(kind = 'deadline' OR NOT EXISTS (SELECT 1 FROM instance \
         JOIN timer AS deadline ON deadline.frozen = FALSE AND deadline.due_at = \
         instance.deadline_at \
         AND deadline.id_order = instance.id_order AND deadline.turn_no = 0 AND deadline.ordinal = \
         0 \
         WHERE instance.id_order = timer.id_order AND instance.deadline_at <= timer.due_at))"
    };
}
pub(crate) use no_deadline_first;

const KINDS: [TimerKind; 3] = [TimerKind::Element, TimerKind::Deadline, TimerKind::TaskDeadline];

/// Reads a row selected with `columns!`.
pub(crate) fn read(row: &impl Columns) -> Result<TimerRow, Error> {
    Ok(TimerRow {
        id: TimerId(row.effect(0, TABLE)?),
        frozen: row.flag(4)?,
        due_at: row.instant(5, TABLE)?,
        kind: row.named(6, TABLE, |name| KINDS.into_iter().find(|kind| kind.name() == name))?,
        definition: DefinitionId(row.number(7)?),
        element: row.text(8)?,
    })
}

/// Reads the key of a timer and its owner from the first six of `columns!`.
pub(crate) fn read_key(row: &impl Columns) -> Result<(InstanceId, TimerKey), Error> {
    let key = row.effect(0, TABLE)?;
    let (frozen, due_at) = (row.flag(4)?, row.instant(5, TABLE)?);
    Ok((key.instance, TimerKey { frozen, due_at, id: TimerId(key) }))
}

/// The key's columns: `frozen, due_at, id_order, turn_no, ordinal, id_random`.
pub(crate) fn key_columns(key: TimerKey) -> (bool, i64, i64, i64, u32, i64) {
    let TimerKey { frozen, due_at, id: TimerId(effect) } = key;
    let (turn_no, ordinal) = (int(effect.turn_no), effect.ordinal);
    let (id_order, id_random) = (id_order(effect.instance), id_random(effect.instance));
    (frozen, due_at.as_millis(), id_order, turn_no, ordinal, id_random)
}

pub(crate) fn matches(filter: &TimerFilter, row: &TimerRow) -> bool {
    (filter.definitions.is_empty() || filter.definitions.contains(&row.definition))
        && filter.due_from.is_none_or(|from| row.due_at >= from)
        && filter.due_before.is_none_or(|before| row.due_at < before)
        && filter.element.as_ref().is_none_or(|element| row.element == *element)
}

/// Keys of the timers of one instance, in order, after the previous page. They come from its open
/// list, so that no index by instance is needed.
pub(crate) fn keys_of(
    owner: &InstanceRow,
    filter: &TimerFilter,
    page: Page<TimerKey>,
) -> Vec<TimerKey> {
    let can_fire = |timer: &OpenTimer| !owner.open.ends_before(timer);
    let timers = owner.open.timers.iter();
    let timers = timers.filter(|(_, timer)| !filter.before_deadline || can_fire(timer));
    let keys = timers.map(|(key, timer)| timer.row_key(key.of(owner.id)));
    let mut keys: Vec<_> = keys.filter(|key| page.after.is_none_or(|after| *key > after)).collect();
    keys.sort_unstable();
    keys
}
