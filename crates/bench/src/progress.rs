//! Progress on standard error: one line that is rewritten on a terminal, one line per step
//! otherwise.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Shows steps and how far they are.
#[derive(Debug, Clone)]
pub(super) struct ProgressDisplay {
    show: Show,
    step: Arc<Mutex<Step>>,
    done: Arc<AtomicUsize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Show {
    Nothing,
    Lines,
    Terminal,
}

#[derive(Debug, Default)]
struct Step {
    name: String,
    total: usize,
    percent: usize,
}

impl ProgressDisplay {
    pub(super) fn new() -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let show = if is_terminal { Show::Terminal } else { Show::Lines };
        Self { show, step: Arc::default(), done: Arc::default() }
    }

    /// Shows nothing.
    pub(super) fn silent() -> Self {
        Self { show: Show::Nothing, ..Self::new() }
    }

    /// Begins a step; `total` is 0 if the number of its parts is not known.
    pub(super) fn step(&self, name: impl Into<String>, total: usize) {
        let mut step = self.step.lock().unwrap_or_else(PoisonError::into_inner);
        *step = Step { name: name.into(), total, percent: 0 };
        self.done.store(0, Ordering::Relaxed);
        match self.show {
            Show::Nothing => {}
            Show::Lines => write(&format!("{}\n", step.name)),
            Show::Terminal => rewrite(&format!("{} …", step.name)),
        }
    }

    /// Counts one part of the step as done.
    pub(super) fn tick(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        // Printing at every tick would influence the figures.
        if self.show == Show::Terminal && done.is_multiple_of(4_096) {
            let mut step = self.step.lock().unwrap_or_else(PoisonError::into_inner);
            let percent = (done * 100).checked_div(step.total).unwrap_or(0).min(100);
            if percent > step.percent {
                step.percent = percent;
                rewrite(&format!("{} … {percent} %", step.name));
            }
        }
    }

    /// Ends the output.
    pub(super) fn finish(&self) {
        if self.show == Show::Terminal {
            rewrite("");
        }
    }
}

fn rewrite(text: &str) {
    write(&format!("\r\x1b[2K{text}"));
}

fn write(text: &str) {
    let mut out = std::io::stderr();
    // Errors are ignored: progress that cannot be printed changes no figure.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
