//! Every body can start, and starts in one way.

use std::collections::BTreeSet;

use meantime_core::Position;

use super::checker::Check;
use crate::model::{Body, Kind, Node, NodeRef, Start, Sub, SubKind, Trigger};
use crate::problem::Code;

impl Check<'_> {
    pub(super) fn scopes(&mut self) {
        let process = self.process;
        self.process_body(&process.body);
        let filled: BTreeSet<NodeRef> = process.nodes.iter().filter_map(|it| it.parent).collect();
        for (index, node) in process.nodes.iter().enumerate() {
            let Kind::Sub(sub) = &node.kind else { continue };
            match sub.kind {
                SubKind::Event => self.event_sub(node, &sub.body),
                SubKind::AdHoc(_) => self.ad_hoc(node, &sub.body),
                SubKind::Embedded | SubKind::Transaction => {
                    self.sub_body(node, &sub.body, !filled.contains(&NodeRef(index)));
                }
            }
        }
    }

    fn start(&self, at: NodeRef) -> (&Node, Option<&Start>) {
        let node = self.process.node(at);
        match &node.kind {
            Kind::Start(start) => (node, Some(start)),
            _ => (node, None),
        }
    }

    fn process_body(&mut self, body: &Body) {
        let process = self.process;
        if body.starts.is_empty() && body.loose.is_empty() {
            let at =
                process.nodes.first().map_or(Position { line: 1, column: 1 }, |it| it.position);
            let message = format!("process `{}`: nothing starts it", process.id);
            self.problems.error_with_help(Code::Start, at, message, "add a start event");
        }
        self.unreached(body);
        let mut plain = 0;
        for at in &body.starts {
            let node = process.node(*at);
            let Kind::Start(start) = &node.kind else { continue };
            if !start.interrupting {
                let what = "only an event sub-process has a start that does not interrupt";
                self.error(Code::Misplaced, node, what);
            }
            match &start.trigger {
                None => plain += 1,
                Some(
                    Trigger::Timer(_)
                    | Trigger::Message(_)
                    | Trigger::Signal(_)
                    | Trigger::Conditional(_),
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

    fn sub_body(&mut self, node: &Node, body: &Body, empty: bool) {
        if empty {
            let help = "draw what happens in it, or use a plain task";
            self.warn(Code::Start, node, "it is empty and completes at once", help);
        } else if body.starts.is_empty() && body.loose.is_empty() {
            self.error_with_help(Code::Start, node, "nothing starts it", "add a start event");
        }
        self.unreached(body);
        for at in &body.starts {
            let process = self.process;
            let start = process.node(*at);
            if matches!(&start.kind, Kind::Start(Start { trigger: Some(_), .. })) {
                let what = "an embedded sub-process is started by its flow, not by an event";
                let help = "use a plain start event, or an event sub-process";
                self.error_with_help(Code::Misplaced, start, what, help);
            }
        }
        if body.starts.len() > 1 {
            self.error(Code::Start, node, "a sub-process has one start event");
        }
    }

    fn event_sub(&mut self, node: &Node, body: &Body) {
        if node.repeat.is_some() {
            self.error(Code::Misplaced, node, "an event sub-process does not repeat");
        }
        self.unreached(body);
        let trigger = match body.starts.as_slice() {
            [only] => self.start(*only).1.and_then(|start| start.trigger.as_ref()),
            _ => None,
        };
        match trigger {
            Some(
                Trigger::Timer(_)
                | Trigger::Message(_)
                | Trigger::Signal(_)
                | Trigger::Error { .. }
                | Trigger::Escalation { .. }
                | Trigger::Conditional(_),
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
            && let (start, Some(Start { trigger: Some(Trigger::Error { .. }), interrupting })) =
                self.start(*only)
            && !interrupting
        {
            let message = format!("`{}`: an error always interrupts", start.id);
            self.problems.error(Code::BadValue, start.position, message);
        }
    }

    fn ad_hoc(&mut self, node: &Node, body: &Body) {
        if let Some(start) = body.starts.first() {
            let process = self.process;
            let what =
                "an ad-hoc sub-process has no start event: its activities begin by themselves";
            self.error(Code::Misplaced, process.node(*start), what);
        }
        if body.loose.is_empty() {
            self.error(Code::Start, node, "there is no activity in it");
        }
    }

    /// Beside start events, what nothing leads to never runs.
    fn unreached(&mut self, body: &Body) {
        if body.starts.is_empty() {
            return;
        }
        for at in &body.loose {
            let process = self.process;
            let what = "no flow leads here, so it never runs";
            self.warn(Code::Start, process.node(*at), what, "connect it, or remove it");
        }
    }
}

/// Whether a node is a transaction.
pub(super) fn is_transaction(node: &Node) -> bool {
    matches!(&node.kind, Kind::Sub(Sub { kind: SubKind::Transaction, .. }))
}
