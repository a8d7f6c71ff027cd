//! A promise that was broken.

use std::fmt;

use meantime_core::InstanceId;

/// A violation that a checker found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The name of the checker.
    pub checker: &'static str,
    /// The instance, if it concerns one.
    pub instance: Option<InstanceId>,
    /// What is wrong, with the ids.
    pub text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.checker, self.text)?;
        match self.instance {
            Some(instance) => write!(f, " ({instance})"),
            None => Ok(()),
        }
    }
}

/// Collects the violations of one checker.
#[derive(Debug)]
pub struct Findings<'a> {
    checker: &'static str,
    violations: &'a mut Vec<Violation>,
}

impl<'a> Findings<'a> {
    /// A collector for one checker.
    pub fn new(checker: &'static str, violations: &'a mut Vec<Violation>) -> Self {
        Self { checker, violations }
    }

    /// Adds a violation that concerns an instance.
    pub fn add_for(&mut self, instance: InstanceId, text: String) {
        let (checker, instance) = (self.checker, Some(instance));
        self.violations.push(Violation { checker, instance, text });
    }

    /// Adds a violation that concerns no single instance.
    pub fn add(&mut self, text: String) {
        self.violations.push(Violation { checker: self.checker, instance: None, text });
    }
}
