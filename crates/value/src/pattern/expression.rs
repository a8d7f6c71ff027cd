//! A compiled regular expression: its engine, and its matches.

use meantime_core::pause_point;

use super::backtrack::BacktrackingMatcher;
use super::linear::LinearMatcher;
use super::translate;
use crate::Text;

/// Bytes of a compiled expression.
pub(super) const MAX_COMPILED_BYTES: usize = 1 << 20;

/// Bytes of the text of an expression.
const MAX_SOURCE_BYTES: usize = 64 << 10;

/// Operations for each match that is kept, besides those for finding it, because it takes memory.
const OPS_PER_MATCH: u64 = 2;

/// A compiled regular expression with its source.
#[derive(Debug)]
pub struct Pattern {
    source: Text,
    engine: Engine,
}

#[derive(Debug)]
enum Engine {
    Linear(Box<LinearMatcher>),
    Backtracking(Box<BacktrackingMatcher>),
}

/// The text is not a regular expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a valid regular expression: {reason}")]
pub struct InvalidPattern {
    reason: String,
}

impl InvalidPattern {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}

/// The match needs more operations than are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the regular expression takes too many operations")]
pub struct MatchTooCostly;

pub(super) type Result<T, E = MatchTooCostly> = std::result::Result<T, E>;

/// Takes operations from a budget.
pub(super) fn spend(ops: &mut u64, count: u64) -> Result<()> {
    match ops.checked_sub(count) {
        Some(left) => {
            pause_point::pass(*ops, left);
            *ops = left;
            Ok(())
        }
        None => {
            *ops = 0;
            Err(MatchTooCostly)
        }
    }
}

impl Pattern {
    /// Compiles an expression in Java's dialect.
    pub fn new(source: &str) -> Result<Self, InvalidPattern> {
        if source.len() > MAX_SOURCE_BYTES {
            return Err(InvalidPattern::new(format!("it has more than {MAX_SOURCE_BYTES} bytes")));
        }
        Self::compile(source, &translate::translate(source))
    }

    /// Compiles an expression in the engine's own dialect.
    pub fn translated(source: &str, translated: &str) -> Result<Self, InvalidPattern> {
        if source.len().max(translated.len()) > MAX_SOURCE_BYTES {
            return Err(InvalidPattern::new(format!("it has more than {MAX_SOURCE_BYTES} bytes")));
        }
        Self::compile(source, translated)
    }

    fn compile(source: &str, translated: &str) -> Result<Self, InvalidPattern> {
        let engine = match LinearMatcher::new(translated)? {
            Some(linear) => Engine::Linear(Box::new(linear)),
            None => Engine::Backtracking(Box::new(BacktrackingMatcher::new(translated)?)),
        };
        Ok(Self { source: source.into(), engine })
    }

    /// The text it was compiled from.
    pub fn source(&self) -> &Text {
        &self.source
    }

    /// The operations of compiling it, for callers that compile during an evaluation.
    pub fn compile_ops(&self) -> u64 {
        let size = match &self.engine {
            Engine::Linear(linear) => linear.size(),
            Engine::Backtracking(hard) => hard.size(),
        };
        (self.source.len() as u64 / 4).saturating_add(size as u64 / 2)
    }

    /// The groups of a match of the whole text.
    pub fn match_whole<'t>(
        &self,
        text: &'t str,
        ops: &mut u64,
    ) -> Result<Option<PatternMatch<'t>>> {
        let spans = match &self.engine {
            Engine::Linear(linear) => linear.match_whole(text, ops)?,
            Engine::Backtracking(hard) => hard.match_whole(text, ops)?,
        };
        Ok(spans.map(|spans| PatternMatch { text, spans }))
    }

    /// Whether there is a match anywhere.
    pub fn is_match(&self, text: &str, ops: &mut u64) -> Result<bool> {
        match &self.engine {
            Engine::Linear(linear) => linear.is_match(text, ops),
            Engine::Backtracking(hard) => Ok(hard.find(text, 0, ops)?.is_some()),
        }
    }

    /// The groups of every match, from left to right.
    pub fn matches<'t>(&self, text: &'t str, ops: &mut u64) -> Result<Vec<PatternMatch<'t>>> {
        let mut scan = match &self.engine {
            Engine::Linear(linear) => Some((&**linear, linear.scan())),
            Engine::Backtracking(_) => None,
        };
        let mut find = |from: usize, ops: &mut u64| match (&mut scan, &self.engine) {
            (Some((linear, scan)), _) => linear.find(scan, text, from, ops),
            (None, Engine::Backtracking(hard)) => hard.find(text, from, ops),
            (None, Engine::Linear(_)) => Ok(None),
        };
        let (mut all, mut from, mut last_end) = (Vec::new(), 0, None);
        while from <= text.len() {
            let Some(spans) = find(from, ops)? else { break };
            let (start, end) = spans.first().copied().flatten().unwrap_or((from, from));
            // An empty match at the end of the previous one is not another match.
            if start == end && last_end == Some(end) {
                from = next_boundary(text, end);
                continue;
            }
            spend(ops, OPS_PER_MATCH.saturating_add(spans.len() as u64))?;
            (from, last_end) = (end, Some(end));
            all.push(PatternMatch { text, spans });
        }
        Ok(all)
    }
}

/// The position after the character at a position; beyond the end for the end.
pub(super) fn next_boundary(text: &str, at: usize) -> usize {
    let next = text.get(at..).and_then(|rest| rest.chars().next());
    at.saturating_add(next.map_or(1, char::len_utf8))
}

/// Byte offsets of groups; the whole match is the first.
pub(super) type GroupSpans = Vec<Option<(usize, usize)>>;

/// One match: the whole of it is group 0.
#[derive(Debug, Clone)]
pub struct PatternMatch<'t> {
    text: &'t str,
    spans: GroupSpans,
}

impl<'t> PatternMatch<'t> {
    /// The text of every group; `None` for a group without a match.
    pub fn groups(&self) -> impl Iterator<Item = Option<&'t str>> {
        let text = self.text;
        self.spans.iter().map(move |span| span.and_then(|(start, end)| text.get(start..end)))
    }

    /// The byte offsets of every group.
    pub fn spans(&self) -> &[Option<(usize, usize)>] {
        &self.spans
    }

    /// Byte offsets of the whole match.
    pub fn span(&self) -> (usize, usize) {
        self.spans.first().copied().flatten().unwrap_or((0, 0))
    }
}
