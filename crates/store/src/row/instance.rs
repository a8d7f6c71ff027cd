//! Instances: the row that every turn rewrites.

use meantime_core::{DefinitionId, InstanceId, State};
use meantime_kernel::open::Open;
use meantime_kernel::store::{ChildRef, Error, InstanceFilter, InstanceMeta, InstanceRow, Phase};

use super::{Columns, damaged, id_order, packed};

const TABLE: &str = "instance";

/// The columns that [`read`] reads, in order.
macro_rules! columns {
    () => {
        "i.id_order, i.id_random, i.turn_no, i.phase, i.definition_id, i.started_at, i.ended_at, \
         i.deadline_at, i.last_history, i.key, i.state_format, i.open, i.meta, i.state"
    };
}
pub(crate) use columns;

/// Phases that few instances are in, and that have an index.
pub(crate) const UNUSUAL_PHASES: &[Phase] =
    &[Phase::Starting, Phase::Yielding, Phase::Failed, Phase::Cancelled];

/// Reads a row selected with `columns!`.
pub(crate) fn read(row: &impl Columns) -> Result<InstanceRow, Error> {
    let format = u16::try_from(row.integer(10)?).map_err(|e| damaged(TABLE, e))?;
    let state = row.parsed(13, TABLE, |bytes| Ok::<_, Error>(State::new(format, bytes)))?;
    Ok(InstanceRow {
        id: row.instance(0, 1)?,
        turn_no: row.number(2)?,
        phase: phase(row, 3)?,
        definition: DefinitionId(row.number(4)?),
        started_at: row.instant(5, TABLE)?,
        ended_at: row.instant_if(6, TABLE)?,
        deadline_at: row.instant_if(7, TABLE)?,
        last_history: row.number(8)?,
        key: row.text_if(9)?,
        open: row.parsed(11, TABLE, Open::from_bytes)?,
        meta: row.unpacked_if(12, TABLE)?.unwrap_or_default(),
        state,
    })
}

/// Reads the decodable parts of a row, and marks it if something is missing: one damaged row must
/// not prevent others of the same list or batch from being read.
pub(crate) fn read_lenient(row: &impl Columns) -> Result<InstanceRow, Error> {
    let error = match read(row) {
        Err(error @ Error::DamagedRow(_)) => error,
        read => return read,
    };
    let meta: Option<InstanceMeta> = row.unpacked_if(12, TABLE).ok().flatten();
    Ok(InstanceRow {
        id: row.instance(0, 1)?,
        turn_no: row.number(2).unwrap_or_default(),
        phase: phase(row, 3).unwrap_or(Phase::Running),
        definition: DefinitionId(row.number(4).unwrap_or_default()),
        started_at: row.instant(5, TABLE).unwrap_or_default(),
        ended_at: row.instant_if(6, TABLE).unwrap_or_default(),
        deadline_at: row.instant_if(7, TABLE).unwrap_or_default(),
        last_history: row.number(8).unwrap_or_default(),
        key: row.text_if(9).unwrap_or_default(),
        open: row.parsed(11, TABLE, Open::from_bytes).unwrap_or_default(),
        meta: InstanceMeta { damaged: Some(error.to_string()), ..meta.unwrap_or_default() },
        state: State::new(0, Vec::new()),
    })
}

pub(crate) fn phase(row: &impl Columns, column: usize) -> Result<Phase, Error> {
    row.named(column, TABLE, Phase::from_name)
}

/// Where a row is counted, from `definition_id` and `phase`. One whose phase cannot be read counts
/// as running, as it is read.
pub(crate) fn counted(
    row: &impl Columns,
    definition: usize,
    phase_column: usize,
) -> Result<(DefinitionId, Phase), Error> {
    let phase = phase(row, phase_column).unwrap_or(Phase::Running);
    Ok((DefinitionId(row.number(definition)?), phase))
}

/// Whether a row selected with `columns!` matches, but for its tags and the codes of its incidents.
/// Reads no packed column unless the filter asks for what is in one.
pub(crate) fn matches(filter: &InstanceFilter, row: &impl Columns) -> Result<bool, Error> {
    let definition = DefinitionId(row.number(4)?);
    let (started_at, ended_at) = (row.instant(5, TABLE)?, row.instant_if(6, TABLE)?);
    // A row whose phase cannot be read is found in every phase, like one that cannot be decoded.
    let phase = phase(row, 3).ok().or_else(|| filter.phases.first().copied());
    let phase = phase.unwrap_or(Phase::Running);
    let has_key = filter.key.is_some() || filter.key_prefix.is_some();
    let key = if has_key { row.text_if(9)? } else { None };
    Ok(filter.matches_columns(definition, phase, started_at, ended_at)
        && filter.matches_id(row.instance(0, 1)?)
        && filter.matches_key(key.as_deref())
        && (!filter.needs_packed_row() || filter.matches(&read_lenient(row)?)))
}

/// A live child of the parent, from `id_order, id_random, meta`; `None` if it has another parent,
/// or if its lineage cannot be decoded.
pub(crate) fn child(row: &impl Columns, parent: InstanceId) -> Result<Option<ChildRef>, Error> {
    let meta: InstanceMeta = row.unpacked_if(2, TABLE).unwrap_or_default().unwrap_or_default();
    let id = row.instance(0, 1)?;
    let lineage = meta.lineage.filter(|lineage| lineage.parent.instance == parent);
    Ok(lineage.map(|lineage| ChildRef { key: lineage.parent, id, close: lineage.close }))
}

/// An instance that continues without an event, from `id_order, id_random, meta`; `None` if an
/// incident holds it, or if it is suspended. A damaged one is included, so that a turn finds and
/// reports it.
pub(crate) fn unfinished(row: &impl Columns) -> Result<Option<InstanceId>, Error> {
    let meta: InstanceMeta = row.unpacked_if(2, TABLE).unwrap_or_default().unwrap_or_default();
    Ok(if meta.may_go_on() { Some(row.instance(0, 1)?) } else { None })
}

pub(crate) fn parent_column(row: &InstanceRow) -> Option<i64> {
    row.meta.lineage.as_ref().map(|lineage| id_order(lineage.parent.instance))
}

/// The packed open list; NULL if it is empty.
pub(crate) fn open_column(open: &Open) -> Option<Vec<u8>> {
    (*open != Open::default()).then(|| open.to_bytes())
}

/// The packed rarely used parts; NULL if they are empty.
pub(crate) fn meta_column(meta: &InstanceMeta) -> Option<Vec<u8>> {
    (*meta != InstanceMeta::default()).then(|| packed(meta))
}
