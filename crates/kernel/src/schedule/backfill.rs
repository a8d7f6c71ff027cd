//! Backfill: runs for past occurrences of a range that had none, in bounded parts (S14).

use meantime_core::time::Backfill;
use meantime_core::{Effect, Json, Timestamp};
use serde::Serialize;

use super::change::Refused;
use super::scheduler::{End, Scheduler};
use crate::command::SCHEDULE_INVALID;

/// How many ranges of one schedule may be in progress.
const MAX_BACKFILLS_IN_PROGRESS: usize = 16;

/// The record of a range.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Filled {
    from: Timestamp,
    to: Timestamp,
    occurrences: u64,
}

/// The record of the rest of a range that gets no runs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rest<'a> {
    not_run: u64,
    reason: &'a str,
}

impl Scheduler<'_> {
    /// Adds a range; returns how many occurrences it has. Occurrences that had a run get no second
    /// one.
    pub(super) fn backfill(&mut self, from: Timestamp, to: Timestamp) -> Result<u64, Refused> {
        let refused = |text: String| Err((SCHEDULE_INVALID, text));
        if from > to {
            return refused(format!("the range ends at {to}, before it begins at {from}"));
        }
        let range = Backfill::new(self.saved.spec.rule.clone(), from, to);
        let (count, most) = (range.left(), self.limits().backfill_runs);
        if count > most {
            return refused(format!(
                "the range has {count} occurrences, one backfill has at most {most}: divide it"
            ));
        }
        if self.saved.backfills.len() >= MAX_BACKFILLS_IN_PROGRESS {
            return refused(format!(
                "{MAX_BACKFILLS_IN_PROGRESS} backfills are in progress: wait until one of them ends"
            ));
        }
        let data = Json::of(&Filled { from, to, occurrences: count }).unwrap_or_default();
        self.push(Effect::Record { kind: "backfill".to_owned(), data });
        if count > 0 {
            self.saved.backfills.push(range);
            self.filled(to);
        }
        Ok(count)
    }

    /// Starts runs of the ranges: as many as one turn may, or one after the other if runs do not
    /// overlap. A pause does not stop it: an operator requested these runs.
    pub(super) fn go_on_filling(&mut self) {
        let mut started = 0;
        while self.end == End::No && !self.saved.backfills.is_empty() {
            if self.is_full() {
                self.stop_filling("all runs are used up");
            } else if !self.saved.overlaps() && !self.saved.running.is_empty() {
                return;
            } else if started == self.starts_per_turn() {
                self.more = true;
                return;
            } else if let Some(scheduled_at) =
                self.saved.backfills.first_mut().and_then(Backfill::next)
            {
                self.start(scheduled_at);
                started += 1;
            } else {
                self.saved.backfills.remove(0);
            }
        }
        self.end_if_over();
    }

    /// The rest of the ranges gets no runs.
    pub(super) fn stop_filling(&mut self, reason: &str) {
        let left: u64 = std::mem::take(&mut self.saved.backfills).iter().map(Backfill::left).sum();
        if left > 0 {
            let data = Json::of(&Rest { not_run: left, reason }).unwrap_or_default();
            self.push(Effect::Record { kind: "backfill".to_owned(), data });
        }
    }
}
