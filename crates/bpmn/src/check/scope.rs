//! Checks that every body can start, and in one way only.

use std::collections::BTreeSet;

use meantime_core::Position;

use super::checker::ProcessChecker;
use crate::model::{
    EventTrigger, Node, NodeKind, NodeRef, ScopeBody, StartEvent, SubProcess, SubProcessKind,
};
use crate::problem::Code;

impl ProcessChecker<'_> {
    pub(super) fn check_scopes(&mut self) {
        let process = self.process;
        self.check_process_body(&process.body);
        let filled: BTreeSet<NodeRef> = process.nodes.iter().filter_map(|it| it.parent).collect();
        for (index, node) in process.nodes.iter().enumerate() {
            let NodeKind::SubProcess(sub) = &node.kind else { continue };
            match sub.kind {
                SubProcessKind::Event => self.check_event_sub_process(node, &sub.body),
                SubProcessKind::AdHoc(_) => self.check_ad_hoc(node, &sub.body),
                SubProcessKind::Embedded | SubProcessKind::Transaction => {
                    self.check_sub_process_body(node, &sub.body, !filled.contains(&NodeRef(index)));
                }
            }
        }
    }

    fn start(&self, at: NodeRef) -> (&Node, Option<&StartEvent>) {
        let node = self.process.node(at);
        match &node.kind {
            NodeKind::Start(start) => (node, Some(start)),
            _ => (node, None),
        }
    }

    fn check_process_body(&mut self, body: &ScopeBody) {
        let process = self.process;
        if body.starts.is_empty() && body.implicit_starts.is_empty() {
            let at =
                process.nodes.first().map_or(Position { line: 1, column: 1 }, |it| it.position);
            let message = format!("process `{}`: nothing starts it", process.id);
            self.problems.error_with_help(Code::Start, at, message, "add a start event");
        }
        self.warn_unreachable(body);
        let mut plain = 0;
        for at in &body.starts {
            let node = process.node(*at);
            let NodeKind::Start(start) = &node.kind else { continue };
            if !start.interrupting {
                let what = "only an event sub-process has a start that does not interrupt";
                self.error(Code::Misplaced, node, what);
            }
            match &start.trigger {
                None => plain += 1,
                Some(
                    EventTrigger::Timer(_)
                    | EventTrigger::Message(_)
                    | EventTrigger::Signal(_)
                    | EventTrigger::Conditional(_),
                ) => {}
                Some(other) => {
                    let what =
                        format!("a process is not started by {} event", other.with_article());
                    let help = "use it as the start of an event sub-process";
                    self.error_with_help(Code::Misplaced, node, &what, help);
                }
            }
            if plain > 1 {
                let what = "a process has one plain start event at most";
                self.error(Code::Start, node, what);
            }
        }
    }

    fn check_sub_process_body(&mut self, node: &Node, body: &ScopeBody, empty: bool) {
        if empty {
            let help = "draw what happens in it, or use a plain task";
            self.warn(Code::Start, node, "it is empty and completes at once", help);
        } else if body.starts.is_empty() && body.implicit_starts.is_empty() {
            self.error_with_help(Code::Start, node, "nothing starts it", "add a start event");
        }
        self.warn_unreachable(body);
        for at in &body.starts {
            let process = self.process;
            let start = process.node(*at);
            if matches!(&start.kind, NodeKind::Start(StartEvent { trigger: Some(_), .. })) {
                let what = "an embedded sub-process is started by its flow, not by an event";
                let help = "use a plain start event, or an event sub-process";
                self.error_with_help(Code::Misplaced, start, what, help);
            }
        }
        if body.starts.len() > 1 {
            self.error(Code::Start, node, "a sub-process has one start event");
        }
    }

    fn check_event_sub_process(&mut self, node: &Node, body: &ScopeBody) {
        if node.repeat.is_some() {
            self.error(Code::Misplaced, node, "an event sub-process does not repeat");
        }
        self.warn_unreachable(body);
        let trigger = match body.starts.as_slice() {
            [only] => self.start(*only).1.and_then(|start| start.trigger.as_ref()),
            _ => None,
        };
        match trigger {
            Some(
                EventTrigger::Timer(_)
                | EventTrigger::Message(_)
                | EventTrigger::Signal(_)
                | EventTrigger::Error { .. }
                | EventTrigger::Escalation { .. }
                | EventTrigger::Conditional(_),
            ) => {}
            Some(other) => {
                let what =
                    format!("{} does not start an event sub-process here", other.with_article());
                self.error(Code::UnsupportedElement, node, &what);
            }
            None => {
                let what = "an event sub-process has exactly one start event, with a trigger";
                self.error(Code::Start, node, what);
            }
        }
        if let [only] = body.starts.as_slice()
            && let (
                start,
                Some(StartEvent { trigger: Some(EventTrigger::Error { .. }), interrupting }),
            ) = self.start(*only)
            && !interrupting
        {
            let message = format!("`{}`: an error always interrupts", start.id);
            self.problems.error(Code::BadValue, start.position, message);
        }
    }

    fn check_ad_hoc(&mut self, node: &Node, body: &ScopeBody) {
        if let Some(start) = body.starts.first() {
            let process = self.process;
            let what = "an ad-hoc sub-process has no start event: its activities start without one";
            self.error(Code::Misplaced, process.node(*start), what);
        }
        if body.implicit_starts.is_empty() {
            self.error(Code::Start, node, "there is no activity in it");
        }
    }

    /// Warns of nodes without an incoming flow in a body with start events: they never run.
    fn warn_unreachable(&mut self, body: &ScopeBody) {
        if body.starts.is_empty() {
            return;
        }
        for at in &body.implicit_starts {
            let process = self.process;
            let what = "no flow leads here, so it never runs";
            self.warn(Code::Start, process.node(*at), what, "connect it, or remove it");
        }
    }
}

/// Whether a node is a transaction.
pub(super) fn is_transaction(node: &Node) -> bool {
    matches!(&node.kind, NodeKind::SubProcess(SubProcess { kind: SubProcessKind::Transaction, .. }))
}
