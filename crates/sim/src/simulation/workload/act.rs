//! Chooses which client acts and how.

use meantime_kernel::machine::{Input, Ticket};

use crate::simulation::coverage_counts::CountGroup;
use crate::simulation::run::Simulation;
use crate::simulation::setup::{FaultFamily, OperationFamily};

impl Simulation {
    /// Lets a random client perform one operation.
    pub(in crate::simulation) fn act_once(&mut self) {
        if self.nodes.iter().all(crate::simulation::node::Node::is_paused_or_down) {
            self.resume_restored();
            return;
        }
        let family = self.pick_family();
        if !self.setup.families.contains(&family) {
            return;
        }
        match family {
            OperationFamily::Starts => self.start_instance(),
            OperationFamily::Signals => self.send_signals(),
            OperationFamily::Poison => self.send_poison(),
            OperationFamily::Messages => self.publish_message(),
            OperationFamily::Broadcasts => self.send_broadcast(),
            OperationFamily::Steps => self.submit_step(),
            OperationFamily::Cancels => self.cancel_instance(),
            OperationFamily::Variables => self.set_random_variables(),
            OperationFamily::TimerEdits => self.edit_random_timer(),
            OperationFamily::Incidents => self.answer_random_incident(),
            OperationFamily::Schedules => self.act_on_schedule(),
            OperationFamily::Deploys => self.deploy_or_undeploy(),
            OperationFamily::Workers => self.act_as_worker(),
            OperationFamily::Purges => self.purge_ended(),
            OperationFamily::Restores => {
                if self.workload.rng.percent(6) {
                    self.restore_backup();
                }
            }
        }
        self.abandon_random_call();
    }

    /// Draws a family; common operations have more weight.
    fn pick_family(&mut self) -> OperationFamily {
        match self.workload.rng.below(100) {
            0..=17 => OperationFamily::Starts,
            18..=28 => OperationFamily::Signals,
            29 => OperationFamily::Poison,
            30..=38 => OperationFamily::Messages,
            39..=41 => OperationFamily::Broadcasts,
            42..=47 => OperationFamily::Steps,
            48..=50 => OperationFamily::Cancels,
            51..=53 => OperationFamily::Variables,
            54..=60 => OperationFamily::TimerEdits,
            61..=63 => OperationFamily::Incidents,
            64..=68 => OperationFamily::Schedules,
            69..=71 => OperationFamily::Deploys,
            72..=96 => OperationFamily::Workers,
            97..=98 => OperationFamily::Purges,
            _ => OperationFamily::Restores,
        }
    }

    /// Abandons a random call that has no reply yet.
    fn abandon_random_call(&mut self) {
        if !self.setup.has_fault(FaultFamily::CallerGone) || !self.workload.rng.percent(4) {
            return;
        }
        let node = self.workload.rng.below(self.nodes.len());
        let place = self.workload.rng.below(self.nodes[node].waiting.len());
        let Some(ticket) = self.nodes[node].waiting.iter().nth(place).copied() else { return };
        self.abandon_call(node, ticket);
    }

    pub(super) fn abandon_call(&mut self, node: usize, ticket: Ticket) {
        self.counts.count(CountGroup::Fault, FaultFamily::CallerGone.name());
        self.counts.count(CountGroup::Operation, "abandon");
        self.trace(|| format!("call {} is abandoned", ticket.0));
        self.nodes[node].handle_input(Input::Abandon(ticket));
    }
}
