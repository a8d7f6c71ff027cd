//! The definitions that messages and broadcasts start.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::{DefinitionId, Trigger};
use meantime_kernel::store::{ChannelKind, DefinitionHead, Error};

use super::connection::{Call, QueryAnswer, arrays, values};
use super::text::text;
use crate::row::definition::head_columns;
use crate::row::trigger_start::{channel, read};
use crate::row::{Columns, int, packed};

const CLEAR: &str = "DELETE FROM trigger_start WHERE definition = ANY ($1::text[])";
const PUT: &str = "INSERT INTO trigger_start (kind, name, definition, definition_id, body) \
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bytea[]) \
     ON CONFLICT (kind, name, definition) DO UPDATE SET definition_id = excluded.definition_id, \
     body = excluded.body";
const STARTS: &str = concat!(
    "SELECT t.kind, t.name, t.body, ",
    head_columns!(),
    " FROM unnest($1::text[], $2::text[]) AS k (kind, name) CROSS JOIN LATERAL \
     (SELECT * FROM trigger_start WHERE kind = k.kind AND name = k.name OFFSET 0) AS t \
     CROSS JOIN LATERAL (SELECT * FROM definition WHERE id = t.definition_id OFFSET 0) AS d \
     ORDER BY t.definition"
);

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[CLEAR, PUT, STARTS];

/// Definitions and triggers, by kind and name of the channel.
pub(super) type Starts = BTreeMap<(ChannelKind, String), Vec<(DefinitionHead, Trigger)>>;

/// The changes of a plan to triggers: those of a name are replaced as a whole.
#[derive(Default)]
pub(super) struct Changes<'a>(BTreeMap<&'a str, (DefinitionId, &'a [Trigger])>);

impl<'a> Changes<'a> {
    pub(super) fn set(&mut self, name: &'a str, definition: DefinitionId, triggers: &'a [Trigger]) {
        self.0.insert(name, (definition, triggers));
    }

    pub(super) fn calls<'c>(&'c self, calls: &mut Vec<Call<'c>>) {
        if self.0.is_empty() {
            return;
        }
        let names: Vec<_> = self.0.keys().map(|name| text(name)).collect();
        calls.push(Call::new(CLEAR, values![names]));
        // If two triggers use one channel, the last one counts.
        let mut rows: BTreeMap<(ChannelKind, &str, &str), (DefinitionId, &Trigger)> =
            BTreeMap::new();
        for (name, (definition, triggers)) in &self.0 {
            for trigger in *triggers {
                if let Some((kind, channel)) = channel(trigger) {
                    rows.insert((kind, channel, name), (*definition, trigger));
                }
            }
        }
        let rows: Vec<_> = rows.into_iter().collect();
        let params = arrays!(rows, |it| [
            it.0.0.name(),
            text(it.0.1),
            text(it.0.2),
            int(it.1.0.0),
            packed(it.1.1),
        ]);
        if !rows.is_empty() {
            calls.push(Call::new(PUT, params));
        }
    }
}

/// The definitions that messages and broadcasts of the names start, by definition name.
pub(super) fn starts(names: &BTreeSet<(ChannelKind, String)>) -> Call<'_> {
    let names: Vec<_> = names.iter().collect();
    Call::new(STARTS, arrays!(names, |it| [it.0.name(), text(&it.1)]))
}

pub(super) fn read_starts(
    answer: &QueryAnswer,
    names: &BTreeSet<(ChannelKind, String)>,
) -> Result<Starts, Error> {
    let mut found: Starts = names.iter().map(|name| (name.clone(), Vec::new())).collect();
    for row in &answer.rows {
        let (kind, name) = (row.text(0)?, row.text(1)?);
        let of = names.iter().find(|(it, called)| it.name() == kind && *called == name);
        if let Some(starts) = of.and_then(|of| found.get_mut(of)) {
            starts.push(read(row, 2)?);
        }
    }
    Ok(found)
}
