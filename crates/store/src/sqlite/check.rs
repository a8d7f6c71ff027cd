//! Checks for damage: what SQLite finds, and what no single table shows.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;

use meantime_core::DefinitionId;
use meantime_kernel::open::Key;
use meantime_kernel::store::{Class, DefinitionRow, Error, InstanceRow};

use super::db::Db;
use super::options::Options;
use super::{
    definition, identity, instance, instance_count, migration, open, task, timer, wal_check,
};
use crate::row::Columns;
use crate::row::instance::{columns, read};
use crate::row::table::Table;
use crate::row::timer::read_key;

const INTEGRITY: &str = "PRAGMA integrity_check(100)";
const LIVE: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM instance AS i WHERE i.ended_at IS NULL ORDER BY i.id_order"
);
const TIMERS: &str = "SELECT id_order, turn_no, ordinal, id_random, frozen, due_at FROM timer";
const INBOX: &str = "SELECT DISTINCT id_order, id_random FROM inbox";

#[cfg(test)]
pub(super) const ALL: &[&str] = &[LIVE, TIMERS, INBOX];

/// The largest number of reported problems; further ones show up after a repair.
const LIMIT: usize = 100;

/// Every problem as a line of text. Damage is a result, not an error.
pub(super) fn check(path: &Path, options: &Options) -> Result<Vec<String>, Error> {
    let mut problems = Vec::new();
    // The log of a store in use grows while it is read, so it is not checked.
    if !identity::is_owned(path) {
        problems.extend(wal_check::inspect(&identity::beside(path, "-wal"))?.damage());
    }
    let connection = match open::reader(path, options) {
        Err(error) if error.class() == Class::Corrupt => {
            problems.push(error.to_string());
            return Ok(problems);
        }
        opened => opened?,
    };
    let db = Db::new(&connection);
    let (version, known) = (migration::version(&connection)?, migration::MIGRATIONS.len());
    if usize::try_from(version).is_ok_and(|version| version < known) {
        // The statements that read rows need the columns of this release.
        integrity(&db, &mut problems)?;
        let text = "rows are checked after `meantime migrate`";
        problems.push(format!("the schema has version {version} of {known}: {text}"));
        return Ok(problems);
    }
    db.run("BEGIN", [])?;
    for part in [integrity, instances, timers, inboxes, undecodable, instance_count::check] {
        match part(&db, &mut problems) {
            Err(error) if error.class() == Class::Corrupt => problems.push(error.to_string()),
            done => done?,
        }
    }
    problems.truncate(LIMIT);
    Ok(problems)
}

/// What SQLite itself reports about a file.
pub(super) fn integrity_of(path: &Path, options: &Options) -> Result<Vec<String>, Error> {
    let connection = open::reader(path, options)?;
    let mut problems = Vec::new();
    integrity(&Db::new(&connection), &mut problems)?;
    Ok(problems)
}

/// Every row that turns read must be decodable.
fn undecodable(db: &Db<'_>, problems: &mut Vec<String>) -> Result<(), Error> {
    for table in Table::ALL {
        let found = db.some(table.select(), [], LIMIT, |row| table.problem(row))?;
        problems.extend(found);
    }
    Ok(())
}

fn integrity(db: &Db<'_>, problems: &mut Vec<String>) -> Result<(), Error> {
    let lines = db.all(INTEGRITY, [], |row| row.text(0))?;
    problems.extend(lines.into_iter().filter(|line| line != "ok"));
    Ok(())
}

/// Everything that a live instance waits for must exist.
fn instances(db: &Db<'_>, problems: &mut Vec<String>) -> Result<(), Error> {
    db.some(LIVE, [], LIMIT, |row| {
        let found = match read(row) {
            Ok(owner) => missing(db, &owner)?,
            // One damaged row must not hide the others.
            Err(error) if error.class() == Class::Corrupt => {
                vec![format!("{}: {error}", row.instance(0, 1)?)]
            }
            Err(error) => return Err(error),
        };
        let is_sound = found.is_empty();
        problems.extend(found);
        Ok((!is_sound).then_some(()))
    })?;
    Ok(())
}

fn missing(db: &Db<'_>, owner: &InstanceRow) -> Result<Vec<String>, Error> {
    let mut problems = Vec::new();
    for (key, open) in &owner.open.timers {
        let key = key.of(owner.id);
        if timer::get(db, open.row_key(key))?.is_none() {
            problems.push(format!("{}: the open timer {key} has no row", owner.id));
        }
    }
    for key in owner.open.tasks.keys() {
        let key = key.of(owner.id);
        if task::get(db, meantime_core::TaskId(key))?.is_none() {
            problems.push(format!("{}: the open task {key} has no row", owner.id));
        }
    }
    Ok(problems)
}

/// Visits every live instance that can be read, with its definition.
pub(super) fn visit_live(
    path: &Path,
    options: &Options,
    visit: &mut dyn FnMut(&DefinitionRow, &InstanceRow),
) -> Result<(), Error> {
    let connection = open::reader(path, options)?;
    let db = Db::new(&connection);
    db.run("BEGIN", [])?;
    let mut definitions: BTreeMap<DefinitionId, Option<DefinitionRow>> = BTreeMap::new();
    db.all(LIVE, [], |row| {
        // `check` reports rows that cannot be read.
        let Ok(instance) = read(row) else { return Ok(()) };
        let definition = match definitions.entry(instance.definition) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(definition::get(&db, instance.definition)?),
        };
        if let Some(definition) = definition {
            visit(definition, &instance);
        }
        Ok(())
    })?;
    Ok(())
}

/// Every armed timer must be in the open list of its instance.
fn timers(db: &Db<'_>, problems: &mut Vec<String>) -> Result<(), Error> {
    let mut owner: Option<InstanceRow> = None;
    db.some(TIMERS, [], LIMIT, |row| {
        let (id, key) = read_key(row)?;
        if owner.as_ref().is_none_or(|known| known.id != id) {
            owner = match instance::get(db, id) {
                // It has been reported already.
                Err(error) if error.class() == Class::Corrupt => return Ok(None),
                found => found?,
            };
        }
        let entry = Key::from(key.id.0);
        let is_open = owner.as_ref().is_some_and(|owner| {
            !owner.phase.is_ended()
                && owner.open.timers.get(&entry).is_some_and(|it| it.row_key(key.id.0) == key)
        });
        if !is_open {
            problems.push(format!("{id}: the timer {} is armed and not open", key.id));
        }
        Ok((!is_open).then_some(()))
    })?;
    Ok(())
}

/// Every inbox must belong to a live instance.
fn inboxes(db: &Db<'_>, problems: &mut Vec<String>) -> Result<(), Error> {
    db.some(INBOX, [], LIMIT, |row| {
        let id = row.instance(0, 1)?;
        let is_live = instance::is_live(db, id)?;
        if !is_live {
            problems.push(format!("{id}: events wait for an instance that has ended"));
        }
        Ok((!is_live).then_some(()))
    })?;
    Ok(())
}
