//! Retention, and operations on the store as a whole.

use std::collections::BTreeSet;

use meantime_core::InstanceId;
use meantime_kernel::command::Command;
use meantime_kernel::store::{InstanceFilter, Page, PurgeRequest};

use crate::harness::block_on;
use crate::simulation::coverage_counts::CountGroup;
use crate::simulation::run::Simulation;

impl Simulation {
    /// Runs retention and checks that only ended instances were removed.
    pub(super) fn purge_ended(&mut self) {
        if self.nodes.iter().any(crate::simulation::node::Node::is_paused) {
            return;
        }
        // Not later than the latest commit: plans with earlier times may still be in flight.
        let now = self.stored_time();
        let retention = self.setup.retention.clone();
        let limit = self.setup.config.limits.purge_rows;
        let before = self.stored_instances();
        let Ok(purged) = block_on(self.store.purge(PurgeRequest { now, retention, limit })) else {
            return;
        };
        self.counts.count(CountGroup::Operation, "purge");
        self.has_purged |= purged.rows() > 0;
        self.trace(|| format!("purged {purged:?}"));
        let after = self.stored_instances();
        for gone in before.difference(&after) {
            let is_over = self.commit_log.rows.get(gone).is_some_and(|row| row.phase.is_ended());
            if !is_over {
                let text = format!("{gone} was removed and is not over");
                self.report_violation("anytime_only_what_is_over_is_removed", text);
            }
            self.purged.insert(*gone);
        }
    }

    fn stored_instances(&self) -> BTreeSet<InstanceId> {
        let page = Page::first(usize::MAX >> 1);
        let rows = block_on(self.store.instances(InstanceFilter::default(), page));
        rows.unwrap_or_default().into_iter().map(|row| row.id).collect()
    }

    /// Confirms that a restored store may resume.
    pub(super) fn resume_restored(&mut self) {
        let audit = self.workload.audit();
        self.send_command("resume", Command::Resume { audit });
    }
}
