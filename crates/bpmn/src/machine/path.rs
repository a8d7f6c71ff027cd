//! The path of the tokens in a turn, as one entry of history.

use std::collections::BTreeMap;

use meantime_core::Json;

use super::state::ElementInstanceId;
use crate::model::{NodeRef, Process};

/// Longer paths are cut: a loop may run thousands of times in one turn.
const MAX_PATH_MARKS: usize = 200;

/// The nodes that were entered and left in this turn, in order.
#[derive(Debug, Default)]
pub(super) struct Path {
    marks: Vec<(NodeRef, PathMark)>,
    /// Elements entered in this turn, with their index in the list.
    entered: BTreeMap<ElementInstanceId, usize>,
    cut: bool,
}

/// What happened at a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathMark {
    /// Entered, and still there.
    Entered,
    /// Entered and left in one turn.
    Passed,
    /// Left.
    Left,
    /// Ended from outside.
    Stopped,
}

impl Path {
    pub(super) fn entered(&mut self, id: ElementInstanceId, node: NodeRef) {
        if let Some(index) = self.mark(node, PathMark::Entered) {
            self.entered.insert(id, index);
        }
    }

    pub(super) fn left(&mut self, id: ElementInstanceId, node: NodeRef) {
        match self.entered.remove(&id) {
            Some(index) => self.marks[index].1 = PathMark::Passed,
            None => {
                self.mark(node, PathMark::Left);
            }
        }
    }

    pub(super) fn stopped(&mut self, id: ElementInstanceId, node: NodeRef) {
        self.entered.remove(&id);
        self.mark(node, PathMark::Stopped);
    }

    fn mark(&mut self, node: NodeRef, mark: PathMark) -> Option<usize> {
        if self.marks.len() >= MAX_PATH_MARKS {
            self.cut = true;
            return None;
        }
        self.marks.push((node, mark));
        Some(self.marks.len() - 1)
    }

    /// A list such as `["Start", "-Task_1", "+Task_2", "!Task_3"]`.
    pub(super) fn record(&self, process: &Process) -> Option<Json> {
        let mark = |(node, mark): &(NodeRef, PathMark)| {
            let sign = match mark {
                PathMark::Entered => "+",
                PathMark::Passed => "",
                PathMark::Left => "-",
                PathMark::Stopped => "!",
            };
            format!("{sign}{}", process.node(*node).id)
        };
        let mut list: Vec<String> = self.marks.iter().map(mark).collect();
        if self.cut {
            list.push("…".to_owned());
        }
        if list.is_empty() { None } else { Json::of(&list).ok() }
    }
}
