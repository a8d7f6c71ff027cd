//! States that contain or call other scopes: parallel and subjourney.

use std::collections::BTreeSet;

use super::fields::MappingReader;
use super::reader::Reader;
use super::scope::ReadState;
use crate::code::Code;
use crate::definition::{
    Binding, Branch, FailureHandling, Join, JoinErrorPolicy, JoinStrategy, Parallel, ResultKind,
    StateBody, SubjourneyCall,
};
use crate::yaml::Node;

impl Reader<'_> {
    /// Rules 40 and 41.
    pub(super) fn parallel(&mut self, fields: &mut MappingReader<'_>) -> ReadState {
        let node = self.required(fields, "parallel", Code::Branches);
        let parallel = node.and_then(|node| {
            let mut inner = self.open(node, &fields.name("parallel"), Code::Branches)?;
            let branches = self.branches(&mut inner);
            let join = self.required(&mut inner, "join", Code::Join);
            let join = join.and_then(|node| self.join(node, &inner.name("join")));
            inner.finish(&mut self.report);
            Some(Parallel { branches: branches?, join: join? })
        });
        let next = match fields.get("next") {
            Some(node) => Some(self.target(node, &fields.name("next"), Code::Flow)?),
            None => {
                let name = fields.name("next");
                self.report
                    .warn(Code::ParallelNext, fields.span, format!("`{name}` is missing"))
                    .help("the parallel ends its scope with the outcome of its branches");
                None
            }
        };
        Some((StateBody::Parallel(parallel?), next))
    }

    fn branches(&mut self, fields: &mut MappingReader<'_>) -> Option<Vec<Branch>> {
        let node = self.required(fields, "branches", Code::Branches)?;
        let what = fields.name("branches");
        let items = self.list(node, &what, Code::Branches)?;
        if items.is_empty() {
            self.report.error(Code::Branches, node.span, format!("`{what}` is empty"));
        }
        let mut names = BTreeSet::new();
        let read: Vec<Option<Branch>> = items
            .iter()
            .enumerate()
            .map(|(index, item)| self.branch(item, &format!("{what}[{index}]"), &mut names))
            .collect();
        read.into_iter().collect()
    }

    fn branch(&mut self, node: &Node, what: &str, names: &mut BTreeSet<String>) -> Option<Branch> {
        let mut fields = self.open(node, what, Code::Branches)?;
        let name = self.required_text(&mut fields, "name", Code::Branches);
        let scope = self.scope(&mut fields, Code::Branches);
        fields.finish(&mut self.report);
        let name = name?;
        if !names.insert(name.clone()) {
            let message = format!("two branches have the name `{name}`");
            self.report.error(Code::Branches, node.span, message);
        }
        Some(Branch { name, scope: scope? })
    }

    fn join(&mut self, node: &Node, what: &str) -> Option<Join> {
        const JOIN_STRATEGIES: [(&str, JoinStrategy); 3] = [
            ("allOf", JoinStrategy::AllOf),
            ("anyOf", JoinStrategy::First),
            ("firstCompleted", JoinStrategy::First),
        ];
        const ERROR_POLICIES: [(&str, JoinErrorPolicy); 3] = [
            ("collectAll", JoinErrorPolicy::CollectAll),
            ("failFast", JoinErrorPolicy::FailFast),
            ("ignoreErrors", JoinErrorPolicy::IgnoreErrors),
        ];
        let mut fields = self.open(node, what, Code::Join)?;
        let strategy = self.required(&mut fields, "strategy", Code::Join);
        let strategy = strategy.and_then(|node| {
            self.one_of(node, &fields.name("strategy"), Code::Join, &JOIN_STRATEGIES)
        });
        let error_policy = match fields.get("errorPolicy") {
            Some(node) => {
                self.one_of(node, &fields.name("errorPolicy"), Code::Join, &ERROR_POLICIES)
            }
            None => Some(JoinErrorPolicy::FailFast),
        };
        let mut bindings = self.bindings();
        bindings.extend([Binding::Branches, Binding::Outcomes]);
        let has_mapper = fields.get("mapper").is_some() || fields.get("mapperRef").is_some();
        let result = match (has_mapper, fields.get("resultVar")) {
            (false, None) => Some(None),
            (true, Some(node)) => {
                let mapper = self.mapper(&mut fields, Code::Join, &bindings);
                let name = self.identifier(node, &fields.name("resultVar"), Code::Join);
                mapper.zip(name).map(Some)
            }
            (true, None) => {
                let message = format!("`{what}.mapper` without `resultVar`");
                self.report.error(Code::Join, fields.span, message);
                None
            }
            (false, Some(node)) => {
                let message = format!("`{what}.resultVar` without `mapper`");
                self.report.error(Code::Join, node.span, message);
                None
            }
        };
        fields.finish(&mut self.report);
        Some(Join { strategy: strategy?, error_policy: error_policy?, result: result? })
    }

    /// Rule 42.
    pub(super) fn call(&mut self, fields: &mut MappingReader<'_>) -> ReadState {
        const RESULT_KINDS: [(&str, ResultKind); 2] =
            [("output", ResultKind::Output), ("outcome", ResultKind::Outcome)];
        const FAILURE_HANDLING: [(&str, FailureHandling); 2] = [
            ("propagate", FailureHandling::Propagate),
            ("capture", FailureHandling::CaptureAsResult),
        ];
        let code = Code::Subjourney;
        let node = self.required(fields, "subjourney", code);
        let call = node.and_then(|node| {
            let mut inner = self.open(node, &fields.name("subjourney"), code)?;
            let subjourney = self.required(&mut inner, "ref", code);
            let subjourney =
                subjourney.and_then(|node| self.target(node, &inner.name("ref"), code));
            let bindings = self.bindings();
            let input = match inner.get("input") {
                Some(node) => {
                    Some(self.mapper_object(node, &inner.name("input"), code, &bindings)?)
                }
                None => None,
            };
            let result_var = match inner.get("resultVar") {
                Some(node) => Some(self.identifier(node, &inner.name("resultVar"), code)?),
                None => None,
            };
            let result_kind = match inner.get("resultKind") {
                Some(node) => self.one_of(node, &inner.name("resultKind"), code, &RESULT_KINDS),
                None => Some(ResultKind::Output),
            };
            let on_failure = match inner.get("onFailure") {
                Some(node) => {
                    let mut block = self.open(node, &inner.name("onFailure"), code)?;
                    let word = self.required(&mut block, "behavior", code).and_then(|node| {
                        self.one_of(node, &block.name("behavior"), code, &FAILURE_HANDLING)
                    });
                    block.finish(&mut self.report);
                    word
                }
                None => Some(FailureHandling::Propagate),
            };
            inner.finish(&mut self.report);
            let (result_kind, on_failure) = (result_kind?, on_failure?);
            Some(SubjourneyCall {
                subjourney: subjourney?,
                input,
                result_var,
                result_kind,
                on_failure,
            })
        });
        let next = self.next(fields, Code::Flow);
        Some((StateBody::Call(call?), next))
    }
}
