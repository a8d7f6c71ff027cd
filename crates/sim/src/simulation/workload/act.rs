//! Somebody acts: which family, and what of it.

use meantime_kernel::machine::{Input, Ticket};

use crate::simulation::run::Run;
use crate::simulation::setup::{Family, Fault};
use crate::simulation::tally::Group;

impl Run {
    /// Somebody does something.
    pub(in crate::simulation) fn act(&mut self) {
        if self.nodes.iter().all(crate::simulation::node::Node::is_paused_or_down) {
            self.confirm();
            return;
        }
        let family = self.family();
        if !self.setup.families.contains(&family) {
            return;
        }
        match family {
            Family::Starts => self.start(),
            Family::Signals => self.signal(),
            Family::Poison => self.poison(),
            Family::Messages => self.publish(),
            Family::Broadcasts => self.broadcast(),
            Family::Steps => self.submit(),
            Family::Cancels => self.cancel(),
            Family::Variables => self.set_variables(),
            Family::TimerEdits => self.edit_timer(),
            Family::Incidents => self.answer_incident(),
            Family::Schedules => self.schedule(),
            Family::Deploys => self.redeploy(),
            Family::Workers => self.work(),
            Family::Purges => self.purge(),
            Family::Restores => {
                if self.load.chance.percent(6) {
                    self.restore();
                }
            }
        }
        self.give_up_waiting();
    }

    /// Common things more often than rare ones.
    fn family(&mut self) -> Family {
        match self.load.chance.below(100) {
            0..=17 => Family::Starts,
            18..=28 => Family::Signals,
            29 => Family::Poison,
            30..=38 => Family::Messages,
            39..=41 => Family::Broadcasts,
            42..=47 => Family::Steps,
            48..=50 => Family::Cancels,
            51..=53 => Family::Variables,
            54..=60 => Family::TimerEdits,
            61..=63 => Family::Incidents,
            64..=68 => Family::Schedules,
            69..=71 => Family::Deploys,
            72..=96 => Family::Workers,
            97..=98 => Family::Purges,
            _ => Family::Restores,
        }
    }

    /// A caller goes away before it is answered.
    fn give_up_waiting(&mut self) {
        if !self.setup.has(Fault::CallerGone) || !self.load.chance.percent(4) {
            return;
        }
        let node = self.load.chance.below(self.nodes.len());
        let place = self.load.chance.below(self.nodes[node].waiting.len());
        let Some(ticket) = self.nodes[node].waiting.iter().nth(place).copied() else { return };
        self.abandon(node, ticket);
    }

    pub(super) fn abandon(&mut self, node: usize, ticket: Ticket) {
        self.tally.count(Group::Fault, Fault::CallerGone.name());
        self.tally.count(Group::Operation, "abandon");
        self.trace(|| format!("call {} is abandoned", ticket.0));
        self.nodes[node].tell(Input::Abandon(ticket));
    }
}
