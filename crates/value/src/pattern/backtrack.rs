//! The backtracking machine: every step is an operation of the budget.

use fancy_regex::Assertion;

use super::expression::{GroupSpans, InvalidPattern, Result, next_boundary, spend};
use super::program::{Instruction, Program, Width, compile};

/// A pattern with look-around or back-references.
#[derive(Debug)]
pub(super) struct BacktrackingMatcher {
    program: Program,
}

/// An entry of the undo log for a failed attempt.
enum BacktrackEntry {
    /// The alternative of a split.
    Branch { pc: usize, at: usize },
    /// The previous value of a slot.
    Slot { slot: usize, old: Option<usize> },
}

impl BacktrackingMatcher {
    pub(super) fn new(translated: &str) -> Result<Self, InvalidPattern> {
        Ok(Self { program: compile(translated)? })
    }

    /// Instructions.
    pub(super) fn size(&self) -> usize {
        self.program.code.len()
    }

    pub(super) fn match_whole(&self, text: &str, ops: &mut u64) -> Result<Option<GroupSpans>> {
        let mut run = Run { program: &self.program, text, slots: self.slots(), ops };
        let found = run.attempt(0, 0, Some(text.len()))?;
        Ok(found.map(|_| self.spans(&run.slots)))
    }

    /// The first match from a position on.
    pub(super) fn find(
        &self,
        text: &str,
        from: usize,
        ops: &mut u64,
    ) -> Result<Option<GroupSpans>> {
        let mut start = from;
        while start <= text.len() {
            let mut run = Run { program: &self.program, text, slots: self.slots(), ops };
            spend(run.ops, 1 + run.slots.len() as u64 / 16)?;
            if run.attempt(0, start, None)?.is_some() {
                return Ok(Some(self.spans(&run.slots)));
            }
            start = next_boundary(text, start);
        }
        Ok(None)
    }

    fn slots(&self) -> Vec<Option<usize>> {
        vec![None; self.program.slots]
    }

    fn spans(&self, slots: &[Option<usize>]) -> GroupSpans {
        let span = |pair: &[Option<usize>]| match pair {
            [Some(start), Some(end)] => Some((*start, *end)),
            _ => None,
        };
        slots.chunks(2).take(self.program.groups).map(span).collect()
    }
}

struct Run<'r> {
    program: &'r Program,
    text: &'r str,
    slots: Vec<Option<usize>>,
    ops: &'r mut u64,
}

impl Run<'_> {
    /// Runs from an instruction and a position to an `End`; returns where it ended. With a target
    /// it must end there. If it fails, the slots are restored.
    ///
    /// Recursive only for lookaround and atomic groups, whose nesting the parser limits.
    fn attempt(&mut self, pc: usize, at: usize, target: Option<usize>) -> Result<Option<usize>> {
        let (mut pc, mut at) = (pc, at);
        let mut undo: Vec<BacktrackEntry> = Vec::new();
        let program = self.program;
        loop {
            spend(self.ops, 1)?;
            let Some(inst) = program.code.get(pc) else { return Ok(None) };
            let next = pc.saturating_add(1);
            let went_on = match inst {
                Instruction::End if target.is_none_or(|target| target == at) => {
                    return Ok(Some(at));
                }
                Instruction::End => None,
                Instruction::Split(first, second) => {
                    undo.push(BacktrackEntry::Branch { pc: *second, at });
                    Some((*first, at))
                }
                Instruction::Jump(to) => Some((*to, at)),
                Instruction::Save(slot) | Instruction::Enter(slot) => {
                    self.save(*slot, Some(at), &mut undo);
                    Some((next, at))
                }
                Instruction::Progress(slot, exit) => {
                    let began = self.slots.get(*slot).copied().flatten();
                    Some((if began == Some(at) { *exit } else { next }, at))
                }
                Instruction::Assert(assertion) => {
                    holds(*assertion, self.text, at).then_some((next, at))
                }
                Instruction::Backref { group, fold } => {
                    self.matches_back_reference(*group, *fold, at)?.map(|end| (next, end))
                }
                Instruction::Look { ahead, negative, width, next: after } => {
                    let before = self.slots.clone();
                    spend(self.ops, before.len() as u64 / 16)?;
                    let found = if *ahead {
                        self.attempt(next, at, None)?.is_some()
                    } else {
                        self.match_look_behind(next, at, *width)?
                    };
                    if found == *negative {
                        self.slots = before;
                        None
                    } else {
                        self.remember(&before, &mut undo);
                        Some((*after, at))
                    }
                }
                Instruction::Atomic { next: after } => {
                    let before = self.slots.clone();
                    spend(self.ops, before.len() as u64 / 16)?;
                    let end = self.attempt(next, at, None)?;
                    self.remember(&before, &mut undo);
                    end.map(|end| (*after, end))
                }
                Instruction::Char { .. } | Instruction::Any { .. } | Instruction::Class(_) => {
                    let c = self.text.get(at..).and_then(|rest| rest.chars().next());
                    let c = c.filter(|c| takes(inst, *c));
                    c.map(|c| (next, at.saturating_add(c.len_utf8())))
                }
            };
            match went_on.or_else(|| self.back(&mut undo)) {
                Some(index) => (pc, at) = index,
                None => return Ok(None),
            }
        }
    }

    fn save(&mut self, slot: usize, new: Option<usize>, undo: &mut Vec<BacktrackEntry>) {
        if let Some(index) = self.slots.get_mut(slot) {
            let old = std::mem::replace(index, new);
            undo.push(BacktrackEntry::Slot { slot, old });
        }
    }

    /// Adds the changes of a nested attempt to the undo log of this one.
    fn remember(&self, before: &[Option<usize>], undo: &mut Vec<BacktrackEntry>) {
        for (slot, (old, new)) in before.iter().zip(&self.slots).enumerate() {
            if old != new {
                undo.push(BacktrackEntry::Slot { slot, old: *old });
            }
        }
    }

    fn back(&mut self, undo: &mut Vec<BacktrackEntry>) -> Option<(usize, usize)> {
        loop {
            match undo.pop()? {
                BacktrackEntry::Branch { pc, at } => return Some((pc, at)),
                BacktrackEntry::Slot { slot, old } => {
                    if let Some(index) = self.slots.get_mut(slot) {
                        *index = old;
                    }
                }
            }
        }
    }

    fn match_look_behind(&mut self, pc: usize, at: usize, (min, max): Width) -> Result<bool> {
        let mut start = at;
        for count in 0..=max.unwrap_or(usize::MAX) {
            spend(self.ops, 1)?;
            if count >= min && self.attempt(pc, start, Some(at))?.is_some() {
                return Ok(true);
            }
            let before = self.text.get(..start).and_then(|text| text.chars().next_back());
            let Some(before) = before else { return Ok(false) };
            start = start.saturating_sub(before.len_utf8());
        }
        Ok(false)
    }

    /// The end of a repeated occurrence of a group's text.
    fn matches_back_reference(
        &mut self,
        group: usize,
        fold: bool,
        at: usize,
    ) -> Result<Option<usize>> {
        let slot = group.saturating_mul(2);
        let index = |slot: usize| self.slots.get(slot).copied().flatten();
        let (Some(start), Some(end)) = (index(slot), index(slot.saturating_add(1))) else {
            return Ok(None);
        };
        let wanted = self.text.get(start..end).unwrap_or_default();
        spend(self.ops, wanted.len() as u64 / 16)?;
        let rest = self.text.get(at..).unwrap_or_default();
        if !fold {
            return Ok(rest.starts_with(wanted).then(|| at.saturating_add(wanted.len())));
        }
        spend(self.ops, wanted.len() as u64)?;
        let (mut here, mut end) = (rest.chars(), at);
        for c in wanted.chars() {
            match here.next() {
                Some(other) if folded_equal(c, other) => {
                    end = end.saturating_add(other.len_utf8());
                }
                _ => return Ok(None),
            }
        }
        Ok(Some(end))
    }
}

fn takes(inst: &Instruction, c: char) -> bool {
    match inst {
        Instruction::Char { c: wanted, fold: false } => *wanted == c,
        Instruction::Char { c: wanted, fold: true } => folded_equal(*wanted, c),
        Instruction::Any { newline: true, .. } => true,
        Instruction::Any { crlf, .. } => c != '\n' && !(*crlf && c == '\r'),
        Instruction::Class(ranges) => {
            let at = ranges.partition_point(|(_, end)| *end < c);
            ranges.get(at).is_some_and(|(start, _)| *start <= c)
        }
        _ => false,
    }
}

fn folded_equal(a: char, b: char) -> bool {
    a == b || a.to_lowercase().eq(b.to_lowercase())
}

fn holds(assertion: Assertion, text: &str, at: usize) -> bool {
    let before = text.get(..at).and_then(|text| text.chars().next_back());
    let after = text.get(at..).and_then(|text| text.chars().next());
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let (left, right) = (is_word(before), is_word(after));
    match assertion {
        Assertion::StartText => before.is_none(),
        Assertion::EndText => after.is_none(),
        Assertion::EndTextIgnoreTrailingNewlines { crlf } => {
            let rest = text.get(at..).unwrap_or_default();
            // The limit keeps this check within one operation.
            rest.len() <= 64 && rest.chars().all(|c| c == '\n' || (crlf && c == '\r'))
        }
        Assertion::StartLine { crlf } => {
            let split_pair = before == Some('\r') && after == Some('\n');
            before.is_none()
                || before == Some('\n')
                || (crlf && before == Some('\r') && !split_pair)
        }
        Assertion::StartLineOniguruma { .. } => {
            before.is_none() || (before == Some('\n') && after.is_some())
        }
        Assertion::EndLine { crlf } => {
            let split_pair = before == Some('\r') && after == Some('\n');
            after.is_none()
                || (after == Some('\n') && !(crlf && split_pair))
                || (crlf && after == Some('\r'))
        }
        Assertion::LeftWordBoundary => !left && right,
        Assertion::LeftWordHalfBoundary => !left,
        Assertion::RightWordBoundary => left && !right,
        Assertion::RightWordHalfBoundary => !right,
        Assertion::WordBoundary => left != right,
        Assertion::NotWordBoundary => left == right,
    }
}
