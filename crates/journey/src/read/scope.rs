//! Scopes and the common part of states.

use std::collections::{BTreeMap, BTreeSet};

use super::fields::MappingReader;
use super::reader::Reader;
use crate::code::Code;
use crate::definition::{Binding, Scope, State, StateBody, StateRef};
use crate::yaml::{Content, Entry, Node};

/// The body of a state and its next state; none if it could not be read.
pub(super) type ReadState = Option<(StateBody, Option<StateRef>)>;

impl Reader<'_> {
    /// `start` and `states` of a block.
    pub(super) fn scope(&mut self, fields: &mut MappingReader<'_>, code: Code) -> Option<Scope> {
        let start = fields.get("start");
        if start.is_none() {
            let message = format!("`{}` is missing", fields.name("start"));
            self.report.error(code, fields.span, message).help("name the state that begins");
        }
        let start = start.and_then(|node| self.target(node, &fields.name("start"), code));
        let node = self.required(fields, "states", code)?;
        let entries = self.entries(node, &fields.name("states"), code)?;
        if entries.is_empty() {
            let name = fields.name("states");
            self.report.error(code, node.span, format!("`{name}` has no state"));
        }
        let mut states = BTreeMap::new();
        let mut broken = BTreeSet::new();
        for entry in entries {
            match self.state(entry) {
                Some(state) => {
                    states.insert(entry.key.clone(), state);
                }
                None => {
                    broken.insert(entry.key.clone());
                    self.check_targets_of_unreadable_state(entry, entries);
                }
            }
        }
        // Without a start the definition is rejected, but its states are still checked.
        let first = || entries.first().map(|it| StateRef { id: it.key.clone(), span: it.key_span });
        Some(Scope { start: start.or_else(first)?, states, broken })
    }

    /// Checks the targets of a state that could not be read, so that a wrong target is reported
    /// together with the state's other problems.
    fn check_targets_of_unreadable_state(&mut self, state: &Entry, states: &[Entry]) {
        let body = &state.value;
        let inner = ["wait", "webhook"].iter().filter_map(|it| body.get(it)?.get("onTimeout"));
        let choices = match body.get("choices").map(|it| &it.content) {
            Some(Content::List(choices)) => choices.as_slice(),
            _ => &[],
        };
        let own = ["next", "default"].iter().filter_map(|it| body.get(it));
        let nodes: Vec<&Node> =
            own.chain(inner).chain(choices.iter().filter_map(|it| it.get("next"))).collect();
        let targets = nodes.into_iter().filter_map(|it| Some((it.text()?, it.span)));
        let from = &state.key;
        for (id, span) in targets {
            if states.iter().any(|it| it.key == id) {
                continue;
            }
            let known: Vec<&str> = states.iter().map(|it| it.key.as_str()).collect();
            let message = format!("`{from}` refers to `{id}`, which is not a state of its scope");
            self.report
                .error(Code::Target, span, message)
                .help(format!("states there: {}", known.join(", ")));
        }
    }

    fn state(&mut self, entry: &Entry) -> Option<State> {
        let (id, span) = (entry.key.clone(), entry.key_span);
        let mut fields = self.open(&entry.value, &id, Code::Shape)?;
        let kind = self.required(&mut fields, "type", Code::Shape)?;
        let read = match kind.text() {
            Some("task") => self.task_state(&mut fields),
            Some("choice") => self.choice(&mut fields),
            Some("transform") => self.transform_state(&mut fields),
            Some("wait") => self.step(&mut fields, crate::definition::StepKind::Wait),
            Some("webhook") => self.step(&mut fields, crate::definition::StepKind::Webhook),
            Some("timer") => self.timer(&mut fields),
            Some("parallel") => self.parallel(&mut fields),
            Some("subjourney") => self.call(&mut fields),
            Some("succeed") => self.succeed(&mut fields),
            Some("fail") => self.fail(&mut fields),
            _ => {
                let shown = kind.text().unwrap_or_else(|| kind.kind());
                self.report
                    .error(Code::Shape, kind.span, format!("`{id}` has the unknown type `{shown}`"))
                    .help(STATE_TYPES);
                return None;
            }
        };
        fields.finish(&mut self.report);
        let (body, next) = read?;
        Some(State { id, span, body, next })
    }

    /// `next`, which is required.
    pub(super) fn next(&mut self, fields: &mut MappingReader<'_>, code: Code) -> Option<StateRef> {
        let node = self.required(fields, "next", code)?;
        self.target(node, &fields.name("next"), code)
    }

    /// The names that every expression of a state may use.
    pub(super) fn bindings(&self) -> Vec<Binding> {
        let mut bindings = vec![Binding::Context, Binding::Platform, Binding::Payload];
        if self.in_compensation {
            bindings.push(Binding::Outcome);
        }
        bindings
    }
}

const STATE_TYPES: &str = "one of: task, choice, transform, wait, webhook, timer, parallel, subjourney, \
                     succeed, fail";
