//! Housekeeping, and what operators do to the store as a whole.

use std::collections::BTreeSet;

use meantime_core::InstanceId;
use meantime_kernel::command::Command;
use meantime_kernel::store::{InstanceFilter, Page, PurgeRequest};

use crate::harness::block_on;
use crate::simulation::run::Run;
use crate::simulation::tally::Group;

impl Run {
    /// Removes some of what is over; only what is over may be gone afterwards.
    pub(super) fn purge(&mut self) {
        if self.nodes.iter().any(crate::simulation::node::Node::is_paused) {
            return;
        }
        // Not ahead of what is on its way to the store.
        let now = self.stored_time();
        let retention = self.setup.retention.clone();
        let limit = self.setup.config.limits.purge_rows;
        let before = self.present();
        let Ok(purged) = block_on(self.store.purge(PurgeRequest { now, retention, limit })) else {
            return;
        };
        self.tally.count(Group::Operation, "purge");
        self.has_purged |= purged.rows() > 0;
        self.trace(|| format!("purged {purged:?}"));
        let after = self.present();
        for gone in before.difference(&after) {
            let is_over = self.journal.rows.get(gone).is_some_and(|row| row.phase.is_ended());
            if !is_over {
                let text = format!("{gone} was removed and is not over");
                self.fail("anytime_only_what_is_over_is_removed", text);
            }
            self.purged.insert(*gone);
        }
    }

    fn present(&self) -> BTreeSet<InstanceId> {
        let page = Page::first(usize::MAX >> 1);
        let rows = block_on(self.store.instances(InstanceFilter::default(), page));
        rows.unwrap_or_default().into_iter().map(|row| row.id).collect()
    }

    /// Somebody confirms that a restored copy may act.
    pub(super) fn confirm(&mut self) {
        let audit = self.load.audit();
        self.ask("resume", Command::Resume { audit });
    }
}
