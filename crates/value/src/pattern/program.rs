//! Patterns with look-around or back-references, compiled for the backtracking machine.

use std::sync::Arc;

use fancy_regex::{Assertion, Expr, LookAround};
use regex_syntax::hir::{Class, HirKind};

use super::expression::InvalidPattern;

/// Instructions of one program.
const MAX_INSTRUCTIONS: usize = 20_000;

/// Ranges of characters, in order.
pub(super) type Ranges = Arc<[(char, char)]>;

/// One instruction; all but jumps continue at the next.
#[derive(Debug, Clone)]
pub(super) enum Instruction {
    Char {
        c: char,
        fold: bool,
    },
    Any {
        newline: bool,
        crlf: bool,
    },
    Class(Ranges),
    Assert(Assertion),
    /// Tries the first, and the second if that fails.
    Split(usize, usize),
    Jump(usize),
    Save(usize),
    /// Saves where a round of a loop began.
    Enter(usize),
    /// Leaves a loop whose round matched nothing.
    Progress(usize, usize),
    Backref {
        group: usize,
        fold: bool,
    },
    /// Matches the instructions up to an `End` separately, then continues at `next`.
    Look {
        ahead: bool,
        negative: bool,
        width: Width,
        next: usize,
    },
    Atomic {
        next: usize,
    },
    End,
}

/// The smallest and largest number of characters that an expression matches.
pub(super) type Width = (usize, Option<usize>);

/// A compiled program.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) code: Vec<Instruction>,
    /// Number of groups, including the whole match.
    pub(super) groups: usize,
    /// Number of slots: two for each group, one for each loop.
    pub(super) slots: usize,
}

type Result<T> = std::result::Result<T, InvalidPattern>;

pub(super) fn compile(translated: &str) -> Result<Program> {
    let tree = Expr::parse_tree(translated).map_err(|it| InvalidPattern::new(it.to_string()))?;
    let groups = count_groups(&tree.expr).saturating_add(1);
    let mut compiler = Compiler { code: Vec::new(), group: 0, slots: groups.saturating_mul(2) };
    compiler.group(&tree.expr, groups)?;
    compiler.push(Instruction::End)?;
    Ok(Program { code: compiler.code, groups, slots: compiler.slots })
}

fn count_groups(expr: &Expr) -> usize {
    let own = usize::from(matches!(expr, Expr::Group(_)));
    expr.children_iter().map(count_groups).fold(own, usize::saturating_add)
}

struct Compiler {
    code: Vec<Instruction>,
    /// The number of the next group.
    group: usize,
    slots: usize,
}

impl Compiler {
    fn push(&mut self, inst: Instruction) -> Result<usize> {
        if self.code.len() >= MAX_INSTRUCTIONS {
            return Err(InvalidPattern::new("it is too large"));
        }
        self.code.push(inst);
        Ok(self.code.len().saturating_sub(1))
    }

    fn set(&mut self, at: usize, inst: Instruction) {
        if let Some(position) = self.code.get_mut(at) {
            *position = inst;
        }
    }

    /// A group with the next number.
    fn group(&mut self, inner: &Expr, groups: usize) -> Result<()> {
        let slot = self.group.saturating_mul(2);
        self.group = self.group.saturating_add(1);
        self.push(Instruction::Save(slot))?;
        self.expr(inner, groups)?;
        self.push(Instruction::Save(slot.saturating_add(1)))?;
        Ok(())
    }

    fn expr(&mut self, expr: &Expr, groups: usize) -> Result<()> {
        match expr {
            Expr::Empty => {}
            Expr::Any { newline, crlf } => {
                self.push(Instruction::Any { newline: *newline, crlf: *crlf })?;
            }
            Expr::Assertion(assertion) => {
                self.push(Instruction::Assert(*assertion))?;
            }
            Expr::Literal { val, casei } => {
                for c in val.chars() {
                    self.push(Instruction::Char { c, fold: *casei })?;
                }
            }
            Expr::Delegate { inner, casei } => {
                let ranges = ranges(inner, *casei)?;
                self.push(Instruction::Class(ranges))?;
            }
            Expr::Concat(parts) => {
                for part in parts {
                    self.expr(part, groups)?;
                }
            }
            Expr::Alt(parts) => self.alternatives(parts, groups)?,
            Expr::Group(inner) => self.group(inner, groups)?,
            Expr::Repeat { child, lo, hi, greedy } => {
                self.repeat(child, (*lo, *hi), *greedy, groups)?;
            }
            Expr::Backref { group, casei } => {
                if *group >= groups {
                    return Err(InvalidPattern::new(format!("there is no group {group}")));
                }
                self.push(Instruction::Backref { group: *group, fold: *casei })?;
            }
            Expr::LookAround(inner, kind) => {
                let at = self.push(Instruction::End)?;
                self.expr(inner, groups)?;
                self.push(Instruction::End)?;
                let (ahead, negative) = match kind {
                    LookAround::LookAhead => (true, false),
                    LookAround::LookAheadNeg => (true, true),
                    LookAround::LookBehind => (false, false),
                    LookAround::LookBehindNeg => (false, true),
                };
                let next = self.code.len();
                self.set(at, Instruction::Look { ahead, negative, width: width(inner), next });
            }
            Expr::AtomicGroup(inner) => {
                let at = self.push(Instruction::End)?;
                self.expr(inner, groups)?;
                self.push(Instruction::End)?;
                let next = self.code.len();
                self.set(at, Instruction::Atomic { next });
            }
            _ => return Err(InvalidPattern::new("it uses a construct that Java does not have")),
        }
        Ok(())
    }

    fn alternatives(&mut self, parts: &[Expr], groups: usize) -> Result<()> {
        let mut ends = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let is_last = index.saturating_add(1) == parts.len();
            let split = if is_last { None } else { Some(self.push(Instruction::End)?) };
            self.expr(part, groups)?;
            if let Some(split) = split {
                ends.push(self.push(Instruction::End)?);
                self.set(split, Instruction::Split(split.saturating_add(1), self.code.len()));
            }
        }
        let end = self.code.len();
        for at in ends {
            self.set(at, Instruction::Jump(end));
        }
        Ok(())
    }

    fn repeat(
        &mut self,
        child: &Expr,
        (lo, hi): (usize, usize),
        greedy: bool,
        groups: usize,
    ) -> Result<()> {
        // Every copy of the child has the same groups.
        let first_group = self.group;
        for _ in 0..lo {
            self.group = first_group;
            self.expr(child, groups)?;
            self.push(Instruction::Jump(self.code.len().saturating_add(1)))?;
        }
        if lo == 0 && hi == 0 {
            self.group = first_group.saturating_add(count_groups(child));
            return Ok(());
        }
        let split_to = |body: usize, exit: usize| {
            if greedy { Instruction::Split(body, exit) } else { Instruction::Split(exit, body) }
        };
        if hi == usize::MAX {
            let slot = self.slots;
            self.slots = slot.saturating_add(1);
            let split = self.push(Instruction::End)?;
            let body = self.push(Instruction::Enter(slot))?;
            self.group = first_group;
            self.expr(child, groups)?;
            let progress = self.push(Instruction::End)?;
            self.push(Instruction::Jump(split))?;
            let exit = self.code.len();
            self.set(split, split_to(body, exit));
            self.set(progress, Instruction::Progress(slot, exit));
            return Ok(());
        }
        let mut splits = Vec::new();
        for _ in lo..hi {
            splits.push(self.push(Instruction::End)?);
            self.group = first_group;
            self.expr(child, groups)?;
        }
        let exit = self.code.len();
        for split in splits {
            self.set(split, split_to(split.saturating_add(1), exit));
        }
        Ok(())
    }
}

/// The characters of a class.
fn ranges(class: &str, fold: bool) -> Result<Ranges> {
    let text = if fold { format!("(?i){class}") } else { class.to_owned() };
    let hir = regex_syntax::parse(&text).map_err(|it| InvalidPattern::new(it.to_string()))?;
    match hir.kind() {
        HirKind::Class(Class::Unicode(class)) => {
            Ok(class.iter().map(|range| (range.start(), range.end())).collect())
        }
        HirKind::Class(Class::Bytes(class)) => Ok(class
            .iter()
            .map(|range| (char::from(range.start()), char::from(range.end())))
            .collect()),
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).unwrap_or_default();
            Ok(text.chars().take(1).map(|c| (c, c)).collect())
        }
        HirKind::Empty => Ok(Arc::from([])),
        _ => Err(InvalidPattern::new("a class is not one character")),
    }
}

/// How many characters an expression matches.
fn width(expr: &Expr) -> Width {
    let sum = |(a_min, a_max): Width, (b_min, b_max): Width| {
        let max = a_max.zip(b_max).map(|(a, b): (usize, usize)| a.saturating_add(b));
        (a_min.saturating_add(b_min), max)
    };
    match expr {
        Expr::Empty | Expr::Assertion(_) | Expr::LookAround(..) => (0, Some(0)),
        Expr::Any { .. } | Expr::Delegate { .. } => (1, Some(1)),
        Expr::Literal { val, .. } => (val.chars().count(), Some(val.chars().count())),
        Expr::Concat(parts) => parts.iter().map(width).fold((0, Some(0)), sum),
        Expr::Alt(parts) => {
            let widths: Vec<Width> = parts.iter().map(width).collect();
            let min = widths.iter().map(|(min, _)| *min).min().unwrap_or(0);
            let max = widths.iter().map(|(_, max)| *max).collect::<Option<Vec<usize>>>();
            (min, max.map(|all| all.into_iter().max().unwrap_or(0)))
        }
        Expr::Group(inner) => width(inner),
        Expr::AtomicGroup(inner) => width(inner),
        Expr::Repeat { child, lo, hi, .. } => {
            let (min, max) = width(child);
            let most = max.filter(|_| *hi != usize::MAX).map(|max| max.saturating_mul(*hi));
            (min.saturating_mul(*lo), most)
        }
        _ => (0, None),
    }
}
