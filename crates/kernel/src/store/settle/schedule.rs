//! Schedules: made, changed or refused by identity; timer starts armed with the deploy.

use meantime_core::{
    Answer, EffectKey, Event, Handed, InstanceId, Json, SCHEDULE_DEFINITION, ScheduleSpec, Start,
    StartCause, Trigger,
};

use super::unit::Settling;
use crate::store::{Accept, InstanceRow, Write};

/// The code of the conflict when a binding of the same identity is active (S7).
const SCHEDULE_EXISTS: &str = "SCHEDULE_EXISTS";

/// The code of the conflict when what is to be started does not exist.
const UNKNOWN_DEFINITION: &str = "SCHEDULE_UNKNOWN_DEFINITION";

/// Why the timer starts of a version end when another one is deployed or becomes the latest again.
const REPLACED: &str = "another version took over";

impl Settling<'_> {
    pub(super) fn put_schedule(
        &mut self,
        answer: Option<EffectKey>,
        mut row: Box<InstanceRow>,
        target: &(String, u32),
        upsert: Option<Event>,
        seq: u64,
        writes: &mut Vec<Write>,
    ) {
        let identity = row.key.clone().map(|key| (SCHEDULE_DEFINITION.to_owned(), key));
        let existing = identity.as_ref().and_then(|it| self.found.keys.get(it)).copied();
        let unknown = self.found.version(&target.0, target.1).is_none();
        let outcome = match (existing, upsert) {
            _ if unknown => Answer::Conflict { code: UNKNOWN_DEFINITION.to_owned() },
            (Some(schedule), Some(event)) => {
                self.deliver(schedule, event, None, seq, writes);
                self.done.scheduled = Some(schedule);
                Answer::Done
            }
            (Some(_), None) => Answer::Conflict { code: SCHEDULE_EXISTS.to_owned() },
            (None, _) => match self.found.latest(SCHEDULE_DEFINITION, None) {
                Some(head) => {
                    row.definition = head.id;
                    if let Some(identity) = identity {
                        self.found.keys.insert(identity, row.id);
                    }
                    self.done.accepted.push(row.id);
                    self.done.scheduled = Some(row.id);
                    writes.push(Write::InsertInstance(row));
                    Answer::Done
                }
                None => Answer::Conflict { code: UNKNOWN_DEFINITION.to_owned() },
            },
        };
        if let Answer::Conflict { code } = &outcome {
            self.done.conflict = Some(code.clone());
        }
        if let Some(key) = answer {
            let event = Event::EffectDone { key, answer: outcome };
            self.deliver(key.instance, event, None, seq, writes);
        }
    }

    /// Cancels the timer starts of a name and arms those of a version, 0 when none is left (B8).
    pub(super) fn arm_timer_starts(
        &mut self,
        name: &str,
        version: u32,
        triggers: &[Trigger],
        accept: &Accept,
        writes: &mut Vec<Write>,
    ) {
        for schedule in self.found.timer_starts.remove(name).unwrap_or_default() {
            let reason = if version == 0 { "its definition was removed" } else { REPLACED };
            let event = Event::Cancel { reason: reason.to_owned() };
            self.deliver(schedule, event, None, accept.seq, writes);
        }
        let Some(definition) = self.found.latest(SCHEDULE_DEFINITION, None).map(|it| it.id) else {
            return;
        };
        let timers = triggers.iter().filter_map(|trigger| match trigger {
            Trigger::Timer { place, recurrence } => Some((place, recurrence)),
            Trigger::Message { .. } | Trigger::Signal { .. } => None,
        });
        for ((place, recurrence), id) in timers.zip(&accept.ids) {
            // What a notation hands over was checked when it was compiled.
            let Ok(rule) = recurrence.armed(self.now) else { continue };
            let spec = ScheduleSpec {
                definition: name.to_owned(),
                version,
                start: Some(place.clone()),
                subject: None,
                label: None,
                rule,
                max_runs: None,
                overlap: meantime_core::Overlap::Allow,
                catch_up: meantime_core::CatchUp::Coalesce,
                input: Handed::default(),
            };
            let cause = StartCause::Timer { place: place.clone() };
            let input = Json::of(&spec).unwrap_or_default();
            let start = Start::new(cause, input);
            self.accept(self.new_instance(*id, definition, &start), writes);
            self.found.timer_starts.entry(name.to_owned()).or_default().push(*id);
            writes.push(tag(*id, name));
        }
    }
}

/// How the schedules of a definition's timer starts are found again.
pub fn timer_start_tag(name: &str) -> String {
    format!("timerStart:{name}")
}

fn tag(instance: InstanceId, name: &str) -> Write {
    Write::PutTags { instance, tags: vec![timer_start_tag(name)], attributes: Vec::new() }
}
