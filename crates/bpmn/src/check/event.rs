//! Checks that links have both ends, and that boundary events and cancellations are attached where
//! they may be.

use std::collections::{BTreeMap, BTreeSet};

use super::checker::ProcessChecker;
use super::scope::is_transaction;
use crate::model::{EventTrigger, Node, NodeKind, NodeRef, ThrownEvent};
use crate::problem::Code;

impl ProcessChecker<'_> {
    pub(super) fn check_events(&mut self) {
        self.check_links();
        let process = self.process;
        for node in &process.nodes {
            self.check_boundary_events(node);
            if matches!(node.kind, NodeKind::End(ThrownEvent::Cancel)) {
                self.check_cancel_end(node);
            }
        }
    }

    fn check_links(&mut self) {
        let process = self.process;
        let mut targets: BTreeMap<(Option<NodeRef>, &str), u32> = BTreeMap::new();
        for node in &process.nodes {
            if let NodeKind::Catch(EventTrigger::Link(link)) = &node.kind {
                let count = targets.entry((node.parent, link)).or_default();
                *count += 1;
                if *count == 2 {
                    let what = format!("the link `{link}` is caught twice");
                    self.error(Code::Link, node, &what);
                }
            }
        }
        for node in &process.nodes {
            if let NodeKind::Throw(ThrownEvent::Link(link)) = &node.kind
                && !targets.contains_key(&(node.parent, link.as_str()))
            {
                let what = format!("nothing catches the link `{link}` in its scope");
                let help = "add an intermediate catch event with the same link name";
                self.error_with_help(Code::Link, node, &what, help);
            }
        }
    }

    fn check_boundary_events(&mut self, host: &Node) {
        let mut codes: BTreeSet<(&str, Option<&str>)> = BTreeSet::new();
        for at in &host.boundaries {
            let process = self.process;
            let node = process.node(*at);
            let NodeKind::Boundary(boundary) = &node.kind else { continue };
            if host.is_event_sub_process() {
                self.error(Code::Misplaced, node, "an event sub-process has no boundary events");
            }
            let code = match &boundary.trigger {
                EventTrigger::Error { code, .. } => ("error", code.as_deref()),
                EventTrigger::Escalation { code, .. } => ("escalation", code.as_deref()),
                EventTrigger::Cancel if !is_transaction(host) => {
                    let what = "only a transaction can be cancelled";
                    self.error(Code::Misplaced, node, what);
                    continue;
                }
                _ => continue,
            };
            if !codes.insert(code) {
                let caught = code.1.map_or_else(|| "every code".to_owned(), |it| format!("`{it}`"));
                let what = format!("another event on `{}` catches {caught} too", host.id);
                self.error(Code::Misplaced, node, &what);
            }
        }
    }

    fn check_cancel_end(&mut self, node: &Node) {
        let process = self.process;
        let around = node.parent.map(|at| process.node(at)).filter(|it| is_transaction(it));
        let Some(transaction) = around else {
            self.error(
                Code::Misplaced,
                node,
                "a cancel end event is allowed only in a transaction",
            );
            return;
        };
        let is_cancel = |at: &NodeRef| {
            matches!(&process.node(*at).kind, NodeKind::Boundary(it)
                if matches!(it.trigger, EventTrigger::Cancel))
        };
        if !transaction.boundaries.iter().any(is_cancel) {
            let what = format!("the transaction `{}` has no cancel boundary event", transaction.id);
            self.error(Code::Missing, node, &what);
        }
    }
}
