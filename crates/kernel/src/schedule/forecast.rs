//! Everything that will fire in a window, from the same function that fires it (O3).

use meantime_core::time::occurrences;
use meantime_core::{InstanceId, TimerId, Timestamp};

use super::saved::ScheduleView;
use crate::store::{TimerKind, TimerRow};

/// Something that will be due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// When.
    pub at: Timestamp,
    /// What.
    pub kind: DueKind,
}

/// What will be due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DueKind {
    /// A timer, a deadline or a task's deadline.
    Timer {
        /// Which.
        id: TimerId,
        /// What it is for.
        kind: TimerKind,
        /// Where in the definition.
        place: String,
    },
    /// A slot of a schedule.
    Slot {
        /// Whose.
        schedule: InstanceId,
        /// What it starts.
        definition: String,
    },
}

/// What will be due from an instant up to another, in order; at most `limit` entries.
///
/// `timers` are armed timers of the window that their deadlines let fire; those of schedules are
/// left out, since their slots come from their rules.
pub fn forecast(
    timers: &[TimerRow],
    schedules: &[(InstanceId, ScheduleView)],
    from: Timestamp,
    to: Timestamp,
    limit: usize,
) -> Vec<Due> {
    let is_schedule = |row: &TimerRow| schedules.iter().any(|(id, _)| *id == row.id.0.instance);
    let in_window = |at: Timestamp| from <= at && at < to;
    let armed = timers.iter().filter(|row| !row.frozen && in_window(row.due_at));
    let armed = armed.filter(|row| !is_schedule(row)).map(|row| Due {
        at: row.due_at,
        kind: DueKind::Timer { id: row.id, kind: row.kind, place: row.place.clone() },
    });
    let mut all: Vec<Due> = armed.collect();
    for (id, view) in schedules.iter().filter(|(_, view)| !view.paused) {
        let left = view
            .spec
            .max_runs
            .map_or(u64::MAX, |most| most.saturating_sub(view.runs_executed + view.running as u64));
        let after = from.saturating_add_millis(-1).max(view.mark.unwrap_or(Timestamp::MIN));
        let slots = occurrences(&view.spec.rule, after).take_while(|slot| slot.at < to);
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(limit);
        all.extend(slots.take(count).map(|slot| Due {
            at: slot.at,
            kind: DueKind::Slot { schedule: *id, definition: view.spec.definition.clone() },
        }));
    }
    all.sort_by_key(|due| due.at);
    all.truncate(limit);
    all
}

/// How much will be due in each bucket of a window: the beginning of a bucket and a count. Empty
/// buckets are there too, so that a chart has no holes.
pub fn buckets(
    due: &[Due],
    from: Timestamp,
    to: Timestamp,
    bucket_ms: i64,
) -> Vec<(Timestamp, u64)> {
    const MOST: i64 = 100_000;
    let bucket_ms = bucket_ms.max(1).max(to.saturating_since(from) / MOST);
    let mut counts = Vec::new();
    let mut begin = from;
    let mut rest = due.iter().skip_while(|due| due.at < from).peekable();
    while begin < to {
        let end = begin.saturating_add_millis(bucket_ms);
        let mut count = 0;
        while rest.next_if(|due| due.at < end && due.at < to).is_some() {
            count += 1;
        }
        counts.push((begin, count));
        begin = end;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_count_everything_in_the_window_once() {
        let at = Timestamp::from_millis;
        let slot = |ms| Due {
            at: at(ms),
            kind: DueKind::Slot { schedule: InstanceId::new(1, 1), definition: "d".to_owned() },
        };
        let due = [slot(5), slot(10), slot(19), slot(20), slot(39), slot(40)];
        let counted = buckets(&due, at(10), at(40), 10);
        assert_eq!(counted, [(at(10), 2), (at(20), 1), (at(30), 1)]);
    }
}
