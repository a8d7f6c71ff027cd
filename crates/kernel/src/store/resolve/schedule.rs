//! Schedules: created, changed or rejected by identity; timer triggers are armed with the deploy.

use meantime_core::time::occurrences;
use meantime_core::{
    Answer, EffectKey, Event, InstanceId, Json, SCHEDULE_DEFINITION, ScheduleInput, ScheduleSpec,
    Start, StartCause, Timestamp, Trigger,
};

use super::unit::UnitResolver;
use crate::store::{Accept, InstanceRow, Write};

/// The conflict code if an active schedule has the same identity (S7).
const SCHEDULE_EXISTS: &str = "SCHEDULE_EXISTS";

/// The conflict code if the definition to start does not exist.
const UNKNOWN_DEFINITION: &str = "SCHEDULE_UNKNOWN_DEFINITION";

/// Why the timer schedules of a version end when another version becomes the latest.
const REPLACED: &str = "another version took over";

impl UnitResolver<'_> {
    pub(super) fn put_schedule(
        &mut self,
        answer: Option<EffectKey>,
        (mut row, tag): (Box<InstanceRow>, String),
        target: &(String, u32),
        upsert: Option<Event>,
        seq: u64,
        writes: &mut Vec<Write>,
    ) {
        let identity = row.key.clone().map(|key| (SCHEDULE_DEFINITION.to_owned(), key));
        let existing = identity.as_ref().and_then(|it| self.newest_binding(it, &tag));
        let unknown = self.snapshot.version(&target.0, target.1).is_none();
        let outcome = match (existing, upsert) {
            _ if unknown => Answer::Conflict { code: UNKNOWN_DEFINITION.to_owned() },
            (Some(schedule), Some(event)) => {
                self.deliver(schedule, event, None, seq, writes);
                self.done.scheduled = Some(schedule);
                Answer::Done
            }
            (Some(_), None) => Answer::Conflict { code: SCHEDULE_EXISTS.to_owned() },
            (None, _) => match self.snapshot.latest(SCHEDULE_DEFINITION, None) {
                Some(head) => {
                    row.definition = head.id;
                    let id = row.id;
                    self.done.scheduled = Some(id);
                    self.accept(row, writes);
                    if let Some(identity) = identity {
                        self.snapshot.keys.insert(identity, id);
                    } else {
                        writes.push(tagged(id, tag.clone()));
                        self.snapshot.tagged.entry(tag).or_default().push(id);
                    }
                    Answer::Done
                }
                None => Answer::Conflict { code: UNKNOWN_DEFINITION.to_owned() },
            },
        };
        if let Answer::Conflict { code } = &outcome {
            self.done.conflict = Some(code.clone());
        }
        if let Some(key) = answer {
            self.answer(key, outcome, seq, writes);
        }
    }

    /// The schedule that a request with this identity finds: the newest of the active ones.
    fn newest_binding(&self, identity: &(String, String), tag: &str) -> Option<InstanceId> {
        let others = self.snapshot.tagged.get(tag).into_iter().flatten();
        others.chain(self.snapshot.keys.get(identity)).max().copied()
    }

    /// Cancels the timer schedules of a name and arms those of a version; version 0 means that none
    /// is left (B8).
    pub(super) fn arm_timer_starts(
        &mut self,
        name: &str,
        version: u32,
        triggers: &[Trigger],
        accept: &Accept,
        writes: &mut Vec<Write>,
    ) {
        let timer_start = timer_start_tag(name);
        for schedule in self.snapshot.tagged.remove(&timer_start).unwrap_or_default() {
            let reason = if version == 0 { "its definition was removed" } else { REPLACED };
            let event = Event::Cancel { reason: reason.to_owned() };
            self.deliver(schedule, event, None, accept.seq, writes);
        }
        // The first commit of a store deploys the built-in definition of schedules. Only that
        // deployment finds none, and it has no triggers.
        let Some(definition) = self.snapshot.latest(SCHEDULE_DEFINITION, None).map(|it| it.id)
        else {
            return;
        };
        let timers = triggers.iter().filter_map(|trigger| match trigger {
            Trigger::Timer { element, recurrence } => Some((element, recurrence)),
            Trigger::Message { .. } | Trigger::Signal { .. } => None,
        });
        for ((element, recurrence), id) in timers.zip(&accept.ids) {
            // Recurrences were checked when the definition was compiled. One that now lies beyond
            // the range of instants has no occurrence.
            let Ok((rule, max_runs)) = recurrence.armed(self.now) else { continue };
            // `R0`, or an end that has passed: there is no occurrence.
            if max_runs == Some(0) || occurrences(&rule, Timestamp::MIN).next().is_none() {
                continue;
            }
            let spec = ScheduleSpec {
                definition: name.to_owned(),
                version,
                start: Some(element.clone()),
                subject: None,
                label: None,
                rule,
                max_runs,
                overlap: meantime_core::Overlap::Allow,
                catch_up: meantime_core::CatchUp::Coalesce,
                input: ScheduleInput::default(),
                anchored: false,
                is_binding: false,
            };
            let cause = StartCause::Timer { element: element.clone() };
            let input = Json::of(&spec).unwrap_or_default();
            let start = Start::new(cause, input);
            self.accept(Box::new(self.new_instance(*id, definition, &start)), writes);
            self.snapshot.tagged.entry(timer_start.clone()).or_default().push(*id);
            writes.push(tagged(*id, timer_start.clone()));
        }
    }
}

/// The tag by which the schedules of a definition's timer triggers are found.
pub(super) fn timer_start_tag(name: &str) -> String {
    format!("timerStart:{name}")
}

/// The tag by which schedules with the same identity are found that exist beside each other (S7).
pub(crate) fn binding_tag(identity: &str) -> String {
    format!("binding:{identity}")
}

fn tagged(instance: InstanceId, tag: String) -> Write {
    Write::PutTags { instance, tags: vec![tag], attributes: Vec::new() }
}
