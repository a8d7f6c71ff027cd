//! Matching: a program, a position, registers, and what to try next if this fails.

use super::parse::{Class, WORD};
use super::program::{Regex, Step};

/// The most attempts that are kept to be tried later.
const MAX_PENDING: usize = 1_000_000;

/// Registers that are cleared, or ranges that are compared, as work of one step.
const REGISTERS_PER_STEP: usize = 8;

/// The register of a group that took no part.
const UNSET: usize = usize::MAX;

/// A string as the matcher sees it: units, or characters with the flag `u`.
#[derive(Debug)]
pub(crate) struct Input {
    symbols: Vec<u32>,
    /// With the flag `u` and characters of two units: the index in units of each symbol.
    units: Option<Vec<usize>>,
}

impl Input {
    pub(crate) fn new(text: &str, unicode: bool) -> Self {
        if !unicode {
            return Self { symbols: text.encode_utf16().map(u32::from).collect(), units: None };
        }
        let symbols: Vec<u32> = text.chars().map(u32::from).collect();
        let has_pairs = symbols.iter().any(|c| *c > 0xffff);
        let units = has_pairs.then(|| {
            let mut at = 0;
            let mut units: Vec<usize> = Vec::with_capacity(symbols.len() + 1);
            for c in &symbols {
                units.push(at);
                at += if *c > 0xffff { 2 } else { 1 };
            }
            units.push(at);
            units
        });
        Self { symbols, units }
    }

    /// The length in symbols.
    pub(crate) fn len(&self) -> usize {
        self.symbols.len()
    }

    /// The index in UTF-16 units of a symbol.
    pub(crate) fn unit(&self, symbol: usize) -> usize {
        match &self.units {
            Some(units) => units.get(symbol).or(units.last()).copied().unwrap_or(symbol),
            None => symbol,
        }
    }

    /// The symbol at an index in units, or the one that it is inside of.
    pub(crate) fn symbol(&self, unit: usize) -> usize {
        match &self.units {
            Some(units) => units.partition_point(|at| *at <= unit).saturating_sub(1),
            None => unit,
        }
    }
}

/// A match: begin and end of every group, in symbols; none for groups that took no part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Match {
    pub(crate) groups: Vec<Option<(usize, usize)>>,
}

impl Match {
    /// The whole match.
    pub(crate) fn range(&self) -> (usize, usize) {
        self.groups.first().copied().flatten().unwrap_or_default()
    }
}

/// The pattern took more steps than it may.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StepLimit;

enum Pending {
    Try { step: usize, at: usize },
    Restore { register: usize, value: usize },
}

struct Attempt<'r> {
    regex: &'r Regex,
    input: &'r [u32],
    registers: Vec<usize>,
    pending: Vec<Pending>,
    steps: usize,
    most: usize,
}

impl Regex {
    /// Finds the first match from a symbol on, or only at it. Counts the steps it takes.
    pub(crate) fn find(
        &self,
        input: &Input,
        from: usize,
        only_here: bool,
        steps: &mut usize,
        most: usize,
    ) -> Result<Option<Match>, StepLimit> {
        let mut attempt = Attempt {
            regex: self,
            input: &input.symbols,
            registers: vec![UNSET; self.registers],
            pending: Vec::new(),
            steps: *steps,
            most,
        };
        let last = if only_here { from } else { input.len() };
        let mut found = None;
        for start in from..=last.max(from) {
            attempt.registers.fill(UNSET);
            attempt.pending.clear();
            attempt.steps += 1 + self.registers / REGISTERS_PER_STEP;
            if attempt.run(0, start)?.is_some() {
                found = Some(attempt.groups(self.groups));
                break;
            }
        }
        *steps = attempt.steps;
        Ok(found)
    }
}

impl Attempt<'_> {
    fn groups(&self, count: usize) -> Match {
        let register = |at: usize| self.registers.get(at).copied().filter(|it| *it != UNSET);
        let group = |number: usize| Some((register(number * 2)?, register(number * 2 + 1)?));
        Match { groups: (0..=count).map(group).collect() }
    }

    fn set(&mut self, register: usize, value: usize) {
        if let Some(slot) = self.registers.get_mut(register) {
            let old = std::mem::replace(slot, value);
            self.pending.push(Pending::Restore { register, value: old });
        }
    }

    fn register(&self, at: usize) -> usize {
        self.registers.get(at).copied().unwrap_or(UNSET)
    }

    /// Runs from a step; the end of the match, or none. What was pending before stays.
    fn run(&mut self, step: usize, at: usize) -> Result<Option<usize>, StepLimit> {
        let floor = self.pending.len();
        let (mut step, mut at) = (step, at);
        loop {
            self.steps += 1;
            if self.steps > self.most || self.pending.len() > MAX_PENDING {
                return Err(StepLimit);
            }
            let next = match self.regex.steps.get(step) {
                None | Some(Step::Accept) => return Ok(Some(at)),
                Some(Step::Look { negative, end }) => {
                    let (negative, end) = (*negative, *end);
                    self.look(step + 1, at, negative)?.then_some((end, at))
                }
                Some(other) => self.advance(other, step, at),
            };
            match next {
                Some(next) => (step, at) = next,
                None => match self.back_track(floor) {
                    Some(next) => (step, at) = next,
                    None => return Ok(None),
                },
            }
        }
    }

    fn back_track(&mut self, floor: usize) -> Option<(usize, usize)> {
        while self.pending.len() > floor {
            match self.pending.pop()? {
                Pending::Try { step, at } => return Some((step, at)),
                Pending::Restore { register, value } => {
                    if let Some(slot) = self.registers.get_mut(register) {
                        *slot = value;
                    }
                }
            }
        }
        None
    }

    /// A look around: whether it holds. Groups of a positive one keep their values.
    fn look(&mut self, step: usize, at: usize, negative: bool) -> Result<bool, StepLimit> {
        let before = self.registers.clone();
        let floor = self.pending.len();
        self.steps += before.len();
        let found = self.run(step, at)?.is_some();
        self.pending.truncate(floor);
        let after = std::mem::replace(&mut self.registers, before);
        if found && !negative {
            for (register, value) in after.into_iter().enumerate() {
                if self.register(register) != value {
                    self.set(register, value);
                }
            }
        }
        Ok(found != negative)
    }

    /// The next step and position, or none if this step fails.
    fn advance(&mut self, step: &Step, here: usize, at: usize) -> Option<(usize, usize)> {
        let next = here + 1;
        match step {
            Step::Char { c, back } => {
                let (symbol, after) = self.read(at, *back)?;
                (self.regex.canonical(symbol) == *c).then_some((next, after))
            }
            Step::Any { back } => {
                let (symbol, after) = self.read(at, *back)?;
                (self.regex.flags.dot_all || !is_line_end(symbol)).then_some((next, after))
            }
            Step::Class { class, back } => {
                let (symbol, after) = self.read(at, *back)?;
                let ranges = self.regex.classes.get(*class).map_or(0, |it| it.ranges.len());
                self.steps += ranges / REGISTERS_PER_STEP;
                self.is_in(*class, symbol).then_some((next, after))
            }
            Step::LineStart => {
                let before = at.checked_sub(1).and_then(|at| self.input.get(at));
                let holds = match before {
                    None => true,
                    Some(c) => self.regex.flags.multiline && is_line_end(*c),
                };
                holds.then_some((next, at))
            }
            Step::LineEnd => {
                let holds = match self.input.get(at) {
                    None => true,
                    Some(c) => self.regex.flags.multiline && is_line_end(*c),
                };
                holds.then_some((next, at))
            }
            Step::Boundary(wanted) => {
                let before = at.checked_sub(1).and_then(|at| self.input.get(at));
                let is = self.is_word(before) != self.is_word(self.input.get(at));
                (is == *wanted).then_some((next, at))
            }
            Step::Split(first, second) => {
                self.pending.push(Pending::Try { step: *second, at });
                Some((*first, at))
            }
            Step::Jump(to) => Some((*to, at)),
            Step::Save(register) => {
                self.set(*register, at);
                Some((next, at))
            }
            Step::BackReference { group, back } => Some((next, self.reference(*group, *back, at)?)),
            Step::SetCounter(counter) => {
                self.set(*counter, 0);
                Some((next, at))
            }
            Step::Repeat(repeat) => {
                let count = self.register(repeat.counter);
                if count < repeat.least as usize {
                    return Some((next, at));
                }
                if repeat.most.is_some_and(|most| count >= most as usize) {
                    return Some((repeat.exit, at));
                }
                let (first, second) =
                    if repeat.greedy { (next, repeat.exit) } else { (repeat.exit, next) };
                self.pending.push(Pending::Try { step: second, at });
                Some((first, at))
            }
            Step::Enter { counter, start, groups } => {
                let count = self.register(*counter);
                self.set(*counter, count.wrapping_add(1));
                self.set(*start, at);
                self.steps += groups.1.saturating_sub(groups.0);
                for group in groups.0..=groups.1 {
                    self.set(group * 2, UNSET);
                    self.set(group * 2 + 1, UNSET);
                }
                Some((next, at))
            }
            Step::Again { counter, start, least, head } => {
                // An iteration that matched nothing is not repeated.
                let is_empty = self.register(*start) == at;
                let is_needed = self.register(*counter) <= *least as usize;
                (!is_empty || is_needed).then_some((*head, at))
            }
            Step::Accept | Step::Look { .. } => None,
        }
    }

    /// The symbol in a direction, and the position after it.
    fn read(&self, at: usize, back: bool) -> Option<(u32, usize)> {
        let after = if back { at.checked_sub(1)? } else { at + 1 };
        self.input.get(at.min(after)).map(|symbol| (*symbol, after))
    }

    fn reference(&mut self, group: usize, back: bool, at: usize) -> Option<usize> {
        let (from, to) = (self.register(group * 2), self.register(group * 2 + 1));
        if from == UNSET || to == UNSET {
            return Some(at);
        }
        let length = to.saturating_sub(from);
        self.steps += length;
        let start = if back { at.checked_sub(length)? } else { at };
        let one = self.input.get(from..to)?;
        let other = self.input.get(start..start + length)?;
        let canonical = |c: &u32| self.regex.canonical(*c);
        let same = one.iter().map(canonical).eq(other.iter().map(canonical));
        same.then_some(if back { start } else { start + length })
    }

    fn is_in(&self, class: usize, symbol: u32) -> bool {
        let Some(class) = self.regex.classes.get(class) else { return false };
        let mut found = contains(class, symbol);
        if !found && self.regex.flags.ignore_case {
            let wanted = self.regex.canonical(symbol);
            let letter = char::from_u32(symbol);
            let related =
                letter.into_iter().flat_map(|it| it.to_lowercase().chain(it.to_uppercase()));
            let related = related.map(u32::from).chain([wanted]);
            found = related
                .filter(|it| self.regex.canonical(*it) == wanted)
                .any(|it| contains(class, it));
        }
        found != class.negative
    }

    fn is_word(&self, symbol: Option<&u32>) -> bool {
        let Some(symbol) = symbol else { return false };
        let is = |c: u32| WORD.iter().any(|(from, to)| (*from..=*to).contains(&c));
        let flags = self.regex.flags;
        is(*symbol) || (flags.unicode && flags.ignore_case && is(self.regex.canonical(*symbol)))
    }
}

fn contains(class: &Class, symbol: u32) -> bool {
    class.ranges.iter().any(|(from, to)| (*from..=*to).contains(&symbol))
        || class.properties.iter().any(|(property, not)| property.contains(symbol) != *not)
}

fn is_line_end(symbol: u32) -> bool {
    matches!(symbol, 0x0a | 0x0d | 0x2028 | 0x2029)
}
