//! The trace of a run, in words that are the same in every run.

use std::collections::BTreeMap;

use meantime_core::{EffectKey, InstanceId, Outcome};
use meantime_kernel::history::Record;
use meantime_kernel::store::{
    DefinitionFilter, HistoryRow, InstanceFilter, InstanceRow, Page, Store,
};

use crate::harness::block_on;

/// The beginning of the line for an expired lease.
pub(super) const LEASE_EXPIRED: &str = "lease expired";

/// Names instances, and collects new rows of their histories.
#[derive(Debug, Default)]
pub(super) struct Tracer {
    names: BTreeMap<InstanceId, String>,
    seen: BTreeMap<InstanceId, u64>,
    unnamed: usize,
}

impl Tracer {
    /// Gives an instance the name that the script uses.
    pub(super) fn set_name(&mut self, id: InstanceId, name: &str) {
        self.names.insert(id, name.to_owned());
    }

    /// The instance with this name.
    pub(super) fn find(&self, name: &str) -> Option<InstanceId> {
        self.names.iter().find(|(_, known)| *known == name).map(|(id, _)| *id)
    }

    /// The newest instance of a definition that has no name and no parent.
    pub(super) fn newest_unnamed(&self, store: &dyn Store, name: &str) -> Option<InstanceId> {
        let filter =
            DefinitionFilter { name: Some(name.to_owned()), ..DefinitionFilter::default() };
        let definitions = block_on(store.definitions(filter)).unwrap_or_default();
        let rows = all(store);
        let rows = rows.iter().filter(|row| row.meta.lineage.is_none());
        let rows = rows.filter(|row| definitions.iter().any(|it| it.id == row.definition));
        rows.map(|row| row.id).filter(|id| !self.names.contains_key(id)).max()
    }

    /// All instances with their names, in the order of their names.
    pub(super) fn instances(&mut self, store: &dyn Store) -> Vec<(String, InstanceRow)> {
        let mut rows: Vec<(String, InstanceRow)> = Vec::new();
        for row in all(store) {
            let name = self.name_of(&row);
            rows.push((name, row));
        }
        rows.sort_by(|one, other| one.0.cmp(&other.0));
        rows
    }

    fn name_of(&mut self, row: &InstanceRow) -> String {
        if let Some(name) = self.names.get(&row.id) {
            return name.clone();
        }
        let name = match &row.meta.lineage {
            Some(lineage) => self.key(lineage.parent),
            None => {
                self.unnamed += 1;
                format!("new{}", self.unnamed)
            }
        };
        self.names.insert(row.id, name.clone());
        name
    }

    /// A text with names in place of the ids of instances, which differ from run to run.
    pub(super) fn with_names(&self, text: &str) -> String {
        let replace = |text: String, (id, name): (&InstanceId, &String)| {
            text.replace(&id.to_string(), &format!("<{name}>"))
        };
        // Most texts contain no id.
        if text.contains("in_") {
            self.names.iter().fold(text.to_owned(), replace)
        } else {
            text.to_owned()
        }
    }

    /// An effect key as text.
    pub(super) fn key(&self, key: EffectKey) -> String {
        let name = self.names.get(&key.instance).map_or("?", String::as_str);
        format!("{name}.{}.{}", key.turn_no, key.ordinal)
    }

    /// Lines for all new history rows, by instance name, oldest first.
    pub(super) fn new_history(&mut self, store: &dyn Store) -> Vec<(String, String)> {
        let mut lines = Vec::new();
        for (name, row) in self.instances(store) {
            let seen = self.seen.get(&row.id).copied().unwrap_or(0);
            let rows = block_on(store.history(row.last_history, usize::MAX)).unwrap_or_default();
            let new: Vec<&HistoryRow> = rows.iter().filter(|row| row.seq > seen).collect();
            for history in new.iter().rev() {
                for record in &history.records {
                    let text = format!("{} {}", history.at, Self::describe_record(record));
                    lines.push((name.clone(), text));
                }
            }
            if let Some(newest) = new.first() {
                self.seen.insert(row.id, newest.seq);
            }
        }
        lines
    }

    fn describe_record(record: &Record) -> String {
        let local = |key: &EffectKey| format!("{}.{}", key.turn_no, key.ordinal);
        match record {
            Record::Started { input, .. } => format!("started {input}"),
            Record::Event { name, key, note, taken, .. } => {
                let key = key.as_ref().map_or_else(String::new, |key| format!(" {}", local(key)));
                let note = note.as_ref().map_or_else(String::new, |note| format!(" {note}"));
                let taken = if *taken { "" } else { " (not taken)" };
                format!("event {name}{key}{note}{taken}")
            }
            Record::TimerArmed { kind, element, due_at, .. } => {
                format!("armed {} {element} for {due_at}", kind.name())
            }
            Record::TimerFired { key, kind, due_at, .. } => {
                format!("fired {} {} due {due_at}", kind.name(), local(key))
            }
            Record::TimerCancelled { key, kind, due_at, cause } => {
                format!("cancelled {} {} due {due_at} {cause:?}", kind.name(), local(key))
            }
            Record::TimerEdited { key, kind, edit, from, to, audit } => {
                let kind = kind.name();
                let (actor, reason) = (&audit.actor, &audit.reason);
                format!("{edit:?} {kind} {} from {from} to {to} by {actor}: {reason}", local(key))
            }
            Record::TaskScheduled { name, .. } => format!("scheduled {name}"),
            Record::TaskCancelled { key, cause } => {
                format!("cancelled task {} {cause:?}", local(key))
            }
            Record::DetachedTaskEnded { key, code } => {
                let code = code.as_deref().unwrap_or("completed");
                format!("detached task {} {code}", local(key))
            }
            // The time of the retry is left out: it depends on the id, which differs between runs.
            Record::AttemptFailed { key, attempt, code, message, .. } => {
                format!("attempt {attempt} of task {} {code}: {message}", local(key))
            }
            Record::LeaseExpired { key, worker, expiries } => {
                format!("{LEASE_EXPIRED} {} of {worker}, {expiries} in a row", local(key))
            }
            Record::ChildStarted { definition, .. } => format!("child {definition}"),
            Record::IncidentRaised { failure, .. } => {
                format!("incident {}: {}", failure.code, failure.message)
            }
            Record::IncidentClosed { audit, .. } => {
                let audit = audit.as_ref().map_or("the definition", |audit| audit.actor.as_str());
                format!("incident closed by {audit}")
            }
            Record::Note { kind, data } if kind == "path" => format!("path {data}"),
            Record::Note { data, .. } => format!("note {data}"),
            Record::Command { name, audit } => {
                format!("{name} by {}: {}", audit.actor, audit.reason)
            }
            Record::Ended { phase, code } => {
                let code = code.as_ref().map_or_else(String::new, |code| format!(" {code}"));
                format!("ended {phase}{code}")
            }
            Record::Closing => "closing".to_owned(),
            Record::Published { name } => format!("published {name}"),
            Record::Compacted { since, turns, .. } => format!("{turns} turns since {since}"),
        }
    }
}

/// The state of an instance in one line.
pub(super) fn describe_state(row: &InstanceRow) -> String {
    let outcome = match &row.meta.outcome {
        Some(Outcome::Completed { output, .. }) => format!(" {output}"),
        Some(Outcome::Failed { failure, termination, .. }) => {
            format!(" {} ({termination:?})", failure.code)
        }
        Some(Outcome::Cancelled { reason, .. }) => format!(" {reason}"),
        None => String::new(),
    };
    let open = &row.open;
    let counts = [
        ("timers", open.timers.len()),
        ("tasks", open.tasks.len()),
        ("waits", open.subscriptions.len()),
        ("children", open.children as usize),
        ("incidents", row.meta.incidents as usize),
    ];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!(" {name} {count}"))
        .collect();
    let suspended = if row.meta.suspended.is_some() { " suspended" } else { "" };
    format!("{}{suspended}{outcome}{}", row.phase.name(), counts.concat())
}

fn all(store: &dyn Store) -> Vec<InstanceRow> {
    let page = Page::first(usize::MAX);
    let mut rows = block_on(store.instances(InstanceFilter::default(), page)).unwrap_or_default();
    rows.reverse();
    rows
}
