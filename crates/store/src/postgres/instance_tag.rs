//! Tags and attributes by which instances are found.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use meantime_core::{Attribute, InstanceId};
use meantime_kernel::store::Error;

use super::connection::{Call, QueryAnswer, arrays, values};
use super::text::text;
use crate::row::{Columns, id_order};

const PUT: &str = "INSERT INTO instance_tag (tag, id_order) \
     SELECT * FROM unnest($1::text[], $2::bigint[]) ON CONFLICT DO NOTHING";
const LIVE: &str = "SELECT t.tag, i.id_order, i.id_random FROM instance_tag AS t CROSS JOIN \
     LATERAL \
     (SELECT id_order, id_random FROM instance WHERE id_order = t.id_order AND ended_at IS NULL \
     OFFSET 0) \
     AS i WHERE t.tag = ANY ($1::text[])";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[PUT, LIVE];

/// Tags that a plan adds; an attribute is the tag `name=value`.
#[derive(Default)]
pub(super) struct Changes<'a>(BTreeSet<(Cow<'a, str>, i64)>);

impl<'a> Changes<'a> {
    pub(super) fn put(
        &mut self,
        instance: InstanceId,
        tags: &'a [String],
        attributes: &'a [Attribute],
    ) {
        let plain = tags.iter().map(|tag| Cow::Borrowed(tag.as_str()));
        let named = attributes.iter().map(|it| Cow::Owned(format!("{}={}", it.name, it.value)));
        self.0.extend(plain.chain(named).map(|tag| (tag, id_order(instance))));
    }

    pub(super) fn calls<'c>(&'c self, calls: &mut Vec<Call<'c>>) {
        let rows: Vec<_> = self.0.iter().collect();
        let params = arrays!(rows, |row| [text(&row.0), row.1]);
        if !rows.is_empty() {
            calls.push(Call::new(PUT, params));
        }
    }
}

/// Live instances with any of some tags.
pub(super) fn live(tags: &BTreeSet<String>) -> Call<'static> {
    let tags: Vec<String> = tags.iter().map(|tag| text(tag).into_owned()).collect();
    Call::new(LIVE, values![tags])
}

/// The instances of each tag, oldest first.
pub(super) fn read_live(
    answer: &QueryAnswer,
    tags: &BTreeSet<String>,
) -> Result<BTreeMap<String, Vec<InstanceId>>, Error> {
    let mut found = answer.read(|row| Ok((row.text(0)?, row.instance(1, 2)?)))?;
    found.sort_unstable_by_key(|(_, id)| *id);
    let of = |tag: &String| found.iter().filter(|(it, _)| it == tag).map(|(_, id)| *id).collect();
    Ok(tags.iter().map(|tag| (tag.clone(), of(tag))).collect())
}
