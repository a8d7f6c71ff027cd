//! Operations of the matcher, compiled from the tree of a pattern.

use super::parse::{Class, Node, Pattern, parse};
use super::{Flags, RegexError};

/// The most operations of a pattern.
const MAX_OPERATIONS: usize = 20_000;

/// One operation of the matcher. Targets are positions in the program.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    Char {
        c: u32,
        back: bool,
    },
    Any {
        back: bool,
    },
    Class {
        class: usize,
        back: bool,
    },
    LineStart,
    LineEnd,
    Boundary(bool),
    /// Tries the first, then the second.
    Split(usize, usize),
    Jump(usize),
    Save(usize),
    BackReference {
        group: usize,
        back: bool,
    },
    /// A look around: matched from here to its end on its own.
    Look {
        negative: bool,
        end: usize,
    },
    /// The end of a look around, or of the pattern.
    Accept,
    SetCounter(usize),
    Repeat(Repeat),
    /// The begin of an iteration: counts, and forgets the groups inside.
    Enter {
        counter: usize,
        start: usize,
        groups: (usize, usize),
    },
    /// The end of an iteration, at the position of its `Repeat`.
    Again {
        counter: usize,
        start: usize,
        least: u32,
        head: usize,
    },
}

/// The head of a repetition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Repeat {
    pub(super) counter: usize,
    pub(super) least: u32,
    pub(super) most: Option<u32>,
    pub(super) greedy: bool,
    pub(super) exit: usize,
}

/// A compiled regular expression.
#[derive(Debug)]
pub(crate) struct Regex {
    pub(super) steps: Vec<Step>,
    pub(super) classes: Vec<Class>,
    pub(super) flags: Flags,
    /// Two registers per group, then two per repetition.
    pub(super) registers: usize,
    pub(super) groups: usize,
    names: Vec<(String, usize)>,
}

impl Regex {
    /// Compiles a pattern.
    pub(crate) fn new(source: &str, flags: &str) -> Result<Self, RegexError> {
        let flags = Flags::parse(flags)?;
        let Pattern { node, groups, names } = parse(source, flags)?;
        let registers = (groups + 1) * 2;
        let mut regex =
            Self { steps: Vec::new(), classes: Vec::new(), flags, registers, groups, names };
        regex.steps.push(Step::Save(0));
        regex.node(&node, false)?;
        regex.steps.extend([Step::Save(1), Step::Accept]);
        Ok(regex)
    }

    pub(crate) fn flags(&self) -> Flags {
        self.flags
    }

    /// The names of groups with their numbers, in the order of the pattern.
    pub(crate) fn names(&self) -> &[(String, usize)] {
        &self.names
    }

    fn node(&mut self, node: &Node, back: bool) -> Result<(), RegexError> {
        if self.steps.len() > MAX_OPERATIONS {
            return Err(RegexError::unsupported("a pattern of this length"));
        }
        match node {
            Node::Empty => {}
            Node::Char(c) => {
                let c = self.canonical(*c);
                self.steps.push(Step::Char { c, back });
            }
            Node::Any => self.steps.push(Step::Any { back }),
            Node::Class(class) => {
                self.classes.push(class.clone());
                self.steps.push(Step::Class { class: self.classes.len() - 1, back });
            }
            Node::LineStart => self.steps.push(Step::LineStart),
            Node::LineEnd => self.steps.push(Step::LineEnd),
            Node::Boundary(is) => self.steps.push(Step::Boundary(*is)),
            Node::Group(node, None) => self.node(node, back)?,
            Node::Group(node, Some(number)) => {
                // Backwards, the end of a group is reached first.
                let (first, second) =
                    (number * 2 + usize::from(back), number * 2 + usize::from(!back));
                self.steps.push(Step::Save(first));
                self.node(node, back)?;
                self.steps.push(Step::Save(second));
            }
            Node::BackReference(group) => {
                self.steps.push(Step::BackReference { group: *group, back });
            }
            Node::NamedReference(name) => {
                let group = self.names.iter().find(|(known, _)| known == name);
                let group = group.map_or(0, |(_, number)| *number);
                self.steps.push(Step::BackReference { group, back });
            }
            Node::Look { ahead, negative, node } => {
                let at = self.steps.len();
                self.steps.push(Step::Look { negative: *negative, end: 0 });
                self.node(node, !ahead)?;
                self.steps.push(Step::Accept);
                let end = self.steps.len();
                if let Some(step) = self.steps.get_mut(at) {
                    *step = Step::Look { negative: *negative, end };
                }
            }
            Node::Repeat { node, least, most, greedy, groups } => {
                let (least, most, greedy) = (*least, *most, *greedy);
                self.repeat(node, least, most, greedy, *groups, back)?;
            }
            Node::Alternatives(all) => self.alternatives(all, back)?,
            Node::Sequence(all) if back => {
                all.iter().rev().try_for_each(|node| self.node(node, back))?;
            }
            Node::Sequence(all) => all.iter().try_for_each(|node| self.node(node, back))?,
        }
        Ok(())
    }

    fn alternatives(&mut self, all: &[Node], back: bool) -> Result<(), RegexError> {
        let mut ends = Vec::new();
        for (index, node) in all.iter().enumerate() {
            if index + 1 == all.len() {
                self.node(node, back)?;
                break;
            }
            let split = self.steps.len();
            self.steps.push(Step::Split(split + 1, 0));
            self.node(node, back)?;
            ends.push(self.steps.len());
            self.steps.push(Step::Jump(0));
            let next = self.steps.len();
            if let Some(step) = self.steps.get_mut(split) {
                *step = Step::Split(split + 1, next);
            }
        }
        let end = self.steps.len();
        for at in ends {
            if let Some(step) = self.steps.get_mut(at) {
                *step = Step::Jump(end);
            }
        }
        Ok(())
    }

    fn repeat(
        &mut self,
        node: &Node,
        least: u32,
        most: Option<u32>,
        greedy: bool,
        groups: (usize, usize),
        back: bool,
    ) -> Result<(), RegexError> {
        let (counter, start) = (self.registers, self.registers + 1);
        self.registers += 2;
        self.steps.push(Step::SetCounter(counter));
        let head = self.steps.len();
        let repeat = Repeat { counter, least, most, greedy, exit: 0 };
        self.steps.push(Step::Repeat(repeat));
        self.steps.push(Step::Enter { counter, start, groups });
        self.node(node, back)?;
        self.steps.push(Step::Again { counter, start, least, head });
        let exit = self.steps.len();
        if let Some(step) = self.steps.get_mut(head) {
            *step = Step::Repeat(Repeat { exit, ..repeat });
        }
        Ok(())
    }

    /// The form in which characters are compared.
    pub(super) fn canonical(&self, c: u32) -> u32 {
        if !self.flags.ignore_case {
            return c;
        }
        let Some(letter) = char::from_u32(c) else { return c };
        if self.flags.unicode {
            return fold(letter);
        }
        let mut upper = letter.to_uppercase();
        match (upper.next(), upper.next()) {
            (Some(one), None) if one.len_utf16() == 1 && (!one.is_ascii() || c < 128) => {
                u32::from(one)
            }
            _ => c,
        }
    }
}

/// Simple case folding: the small letter of the capital one, where both are single characters.
fn fold(letter: char) -> u32 {
    let single = |mut all: Box<dyn Iterator<Item = char>>| match (all.next(), all.next()) {
        (Some(one), None) => Some(one),
        _ => None,
    };
    let upper = single(Box::new(letter.to_uppercase())).unwrap_or(letter);
    u32::from(single(Box::new(upper.to_lowercase())).unwrap_or(upper))
}
