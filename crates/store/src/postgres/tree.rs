//! The number of live instances below each root.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::InstanceId;
use meantime_kernel::store::{Error, Tree};

use super::connection::{Call, QueryAnswer, arrays, values};
use crate::row::{Columns, id_order, id_random};

const ADD: &str = "INSERT INTO tree (id_order, id_random, live) \
     SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) \
     ON CONFLICT (id_order) DO UPDATE SET live = tree.live + excluded.live";
const FORGET: &str = "DELETE FROM tree WHERE id_order = ANY ($1::bigint[]) AND live <= 0";
const FIND: &str = "SELECT id_order, id_random, live, EXISTS (SELECT 1 FROM instance \
     WHERE instance.id_order = tree.id_order AND phase IN ('failed', 'cancelled')) \
     FROM tree WHERE id_order = ANY ($1::bigint[])";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[ADD, FORGET, FIND];

/// Changes of these numbers, by root and in the order of roots, so that two nodes cannot wait for
/// each other in a circle.
#[derive(Default)]
pub(super) struct Changes(BTreeMap<InstanceId, i64>);

impl Changes {
    pub(super) fn join(&mut self, root: InstanceId) {
        *self.0.entry(root).or_default() += 1;
    }

    pub(super) fn leave(&mut self, root: InstanceId) {
        *self.0.entry(root).or_default() -= 1;
    }

    pub(super) fn calls<'c>(&'c self, calls: &mut Vec<Call<'c>>) {
        let rows: Vec<(&InstanceId, &i64)> =
            self.0.iter().filter(|(_, audit)| **audit != 0).collect();
        if rows.is_empty() {
            return;
        }
        let params = arrays!(rows, |it| [id_order(*it.0), id_random(*it.0), *it.1]);
        calls.push(Call::new(ADD, params));
        let shrunk = rows.iter().filter(|(_, audit)| **audit < 0);
        let shrunk: Vec<i64> = shrunk.map(|(root, _)| id_order(**root)).collect();
        if !shrunk.is_empty() {
            calls.push(Call::new(FORGET, values![shrunk]));
        }
    }
}

/// Reads some of them.
pub(super) fn find(roots: &BTreeSet<InstanceId>) -> Call<'static> {
    let roots: Vec<i64> = roots.iter().copied().map(id_order).collect();
    Call::new(FIND, values![roots])
}

pub(super) fn read(answer: &QueryAnswer) -> Result<BTreeMap<InstanceId, Tree>, Error> {
    let rows = answer.read(|row| {
        let tree = Tree { live: row.number(2)?, is_ending: row.flag(3)? };
        Ok((row.instance(0, 1)?, tree))
    })?;
    Ok(rows.into_iter().collect())
}
