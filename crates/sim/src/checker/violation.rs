//! A promise that was broken.

use std::fmt;

use meantime_core::InstanceId;

/// What a checker found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which checker.
    pub checker: &'static str,
    /// Of which instance, if of one.
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

/// Collects what a checker finds.
#[derive(Debug)]
pub struct Findings<'a> {
    checker: &'static str,
    violations: &'a mut Vec<Violation>,
}

impl<'a> Findings<'a> {
    /// For one checker.
    pub fn new(checker: &'static str, violations: &'a mut Vec<Violation>) -> Self {
        Self { checker, violations }
    }

    /// Something is wrong with an instance.
    pub fn add_for(&mut self, instance: InstanceId, text: String) {
        let (checker, instance) = (self.checker, Some(instance));
        self.violations.push(Violation { checker, instance, text });
    }

    /// Something is wrong with no instance in particular.
    pub fn add(&mut self, text: String) {
        self.violations.push(Violation { checker: self.checker, instance: None, text });
    }
}
