//! Random probe programs: every operation of the probe, in programs that end.
//!
//! A probe starts and triggers only probes with a higher number, and its loops are limited, so that
//! every program comes to rest whatever events it gets. Everything else may go wrong.

use std::fmt::Write as _;

use super::randomness::Randomness;

/// Names that programs and callers share, so that their signals match.
pub(super) const SIGNAL_NAMES: [&str; 3] = ["go", "stop", "news"];
/// Message names.
pub(super) const MESSAGE_NAMES: [&str; 2] = ["paid", "sent"];
/// Correlation keys.
pub(super) const CORRELATION_KEYS: [&str; 3] = ["k1", "k2", "k3"];
/// Broadcast names.
pub(super) const BROADCAST_NAMES: [&str; 2] = ["storm", "calm"];
/// Steps.
pub(super) const STEP_IDS: [&str; 2] = ["form", "sign"];
/// Task types.
pub(super) const TASK_TYPES: [&str; 3] = ["mail", "pack", "ship"];
/// Queues; the first is the default queue.
pub(super) const QUEUE_NAMES: [&str; 2] = ["", "slow"];

const DURATIONS: [&str; 9] =
    ["PT0S", "PT0.020S", "PT0.500S", "PT2S", "PT30S", "PT5M", "PT1H", "PT26H", "P3D"];

/// The programs of one seed.
#[derive(Debug, Clone)]
pub(super) struct Programs {
    /// Source texts by definition name, `p0`, `p1` …
    pub(super) texts: Vec<String>,
}

/// The name of a program.
pub(super) fn program_name(number: usize) -> String {
    format!("p{number}")
}

/// The message that starts a program, if it is started by one.
pub(super) fn start_message(number: usize) -> String {
    format!("begin{number}")
}

/// The broadcast that starts a program, if it is started by one.
pub(super) fn start_broadcast(number: usize) -> String {
    format!("alarm{number}")
}

impl Programs {
    /// `count` programs.
    pub(super) fn generate(count: usize, rng: &mut Randomness) -> Self {
        let texts = (0..count).map(|number| generate_program(number, count, rng)).collect();
        Self { texts }
    }
}

/// Program `number` of `count`.
pub(super) fn generate_program(number: usize, count: usize, rng: &mut Randomness) -> String {
    let mut writer =
        ProgramWriter { text: String::new(), number, count, handles: 0, labels: 0, rng };
    writer.write_header();
    writer.write_body();
    writer.text
}

struct ProgramWriter<'a> {
    text: String,
    number: usize,
    count: usize,
    handles: u32,
    labels: u32,
    rng: &'a mut Randomness,
}

impl ProgramWriter<'_> {
    fn push_line(&mut self, line: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{line}");
    }

    fn write_header(&mut self) {
        self.push_line(&format!("probe p{}", self.number));
        if self.rng.percent(25) {
            let span = self.rng.pick(&DURATIONS[2..]);
            self.push_line(&format!("deadline {span} LATE it took too long"));
        }
        if self.rng.percent(25) {
            let line = match self.rng.below(5) {
                0 => format!("trigger message {}", start_message(self.number)),
                1 => format!("trigger signal {}", start_broadcast(self.number)),
                2 => format!("trigger timer after {}", self.rng.pick(&DURATIONS)),
                3 => format!("trigger timer cycle R3/{}", self.rng.pick(&DURATIONS[3..])),
                _ => "trigger timer cron */10 * * * *".to_owned(),
            };
            self.push_line(&line);
        }
        if self.rng.percent(15)
            && let Some(later) = self.pick_later_program()
        {
            self.push_line(&format!("compensate {later}"));
        }
        if self.rng.percent(40) {
            self.push_line("catch caught");
        }
        self.push_line("---");
    }

    fn write_body(&mut self) {
        for _ in 0..self.rng.between(1, 5) {
            self.write_block();
        }
        match self.rng.below(10) {
            0 => self.push_line("fail SAD"),
            1..=3 => self.push_line("end $input"),
            _ => self.push_line("end"),
        }
        self.push_line("caught:");
        self.push_line("end \"caught\"");
    }

    /// A program that this one may start.
    fn pick_later_program(&mut self) -> Option<String> {
        let behind = self.count.saturating_sub(self.number + 1);
        if behind == 0 {
            return None;
        }
        Some(program_name(self.number + 1 + self.rng.below(behind)))
    }

    fn write_block(&mut self) {
        match self.rng.below(24) {
            0..=5 => {
                let handle = self.begin_wait();
                self.push_line(&format!("await {handle}"));
            }
            6..=10 => {
                let handles: Vec<String> =
                    (0..self.rng.between(2, 4)).map(|_| self.begin_wait()).collect();
                self.push_line(&format!("race {}", handles.join(" ")));
            }
            11..=12 => {
                let handles: Vec<String> =
                    (0..self.rng.between(2, 3)).map(|_| self.begin_wait()).collect();
                self.push_line(&format!("all {}", handles.join(" ")));
            }
            13 => {
                self.begin_wait();
            }
            14 => {
                let handle = self.begin_wait();
                self.push_line(&format!("drop {handle}"));
            }
            15..=16 => self.write_loop(),
            17 => self.write_fan_out(),
            18 => {
                // The child may end, or throw, while its parent is running.
                if self.rng.percent(50) {
                    let handle = self.new_handle();
                    let child = self.child_line(&handle);
                    self.push_line(&child);
                }
                let ops = self.rng.pick(&[20, 200, 900, 2_500]);
                self.push_line(&format!("spin {ops}"));
            }
            19..=20 => self.write_send(),
            21 => self.write_side_effect(),
            22 => self.write_schedule(),
            _ => self.write_failure(),
        }
    }

    /// An unused handle.
    fn new_handle(&mut self) -> String {
        self.handles += 1;
        format!("h{}", self.handles)
    }

    /// Begins an effect that can be awaited.
    fn begin_wait(&mut self) -> String {
        let handle = self.new_handle();
        let line = match self.rng.below(16) {
            0..=3 => self.task_line(&handle),
            4..=6 => format!("timer {handle} {}", self.rng.pick(&DURATIONS)),
            7 => format!("until {handle} 2026-01-0{}T00:00:00Z", self.rng.between(1, 4)),
            8..=9 => format!("signal {handle} {}", self.rng.pick(&SIGNAL_NAMES)),
            10..=11 => {
                let (name, key) = (self.rng.pick(&MESSAGE_NAMES), self.rng.pick(&CORRELATION_KEYS));
                format!("message {handle} {name} {key}")
            }
            12 => format!("listen {handle} {}", self.rng.pick(&BROADCAST_NAMES)),
            13 => format!("step {handle} {} field", self.rng.pick(&STEP_IDS)),
            _ => self.child_line(&handle),
        };
        self.push_line(&line);
        handle
    }

    fn task_line(&mut self, handle: &str) -> String {
        let mut line = format!("task {handle} {}", self.rng.pick(&TASK_TYPES));
        match self.rng.below(8) {
            0 => line.push_str(" engine"),
            1 => line.push_str(" user"),
            _ => {}
        }
        if self.rng.percent(25) {
            line.push_str(" queue=slow");
        }
        if self.rng.percent(25) {
            let _ = write!(line, " priority={}", self.rng.between(-2, 2));
        }
        if self.rng.percent(50) {
            let (attempts, base) = (self.rng.between(1, 4), self.rng.pick(&[0, 10, 5_000]));
            let _ = write!(line, " attempts={attempts} base={base}");
        }
        if self.rng.percent(20) {
            let _ = write!(line, " timeout={}", self.rng.pick(&[50, 2_000, 60_000]));
        }
        if self.rng.percent(20) {
            let _ = write!(line, " deadline={}", self.rng.pick(&DURATIONS[2..]));
        }
        line
    }

    fn child_line(&mut self, handle: &str) -> String {
        let Some(later) = self.pick_later_program() else {
            return format!("timer {handle} {}", self.rng.pick(&DURATIONS));
        };
        let mut line = format!("child {handle} {later}");
        match self.rng.below(3) {
            0 => line.push_str(" close=detach"),
            1 => line.push_str(" close=abandon"),
            _ => {}
        }
        if self.rng.percent(15) {
            let _ = write!(line, " key={}", self.rng.pick(&CORRELATION_KEYS));
        }
        if self.rng.percent(10) {
            let _ = write!(line, " version={}", self.rng.between(1, 3));
        }
        if self.rng.percent(30) {
            let _ = write!(line, " catch={}", self.rng.pick(&["OUCH", "*"]));
        }
        line
    }

    fn write_loop(&mut self) {
        self.labels += 1;
        let label = format!("l{}", self.labels);
        self.push_line(&format!("{label}:"));
        let handle = self.begin_wait();
        match self.rng.below(3) {
            0 => {
                let other = self.begin_wait();
                self.push_line(&format!("race {handle} {other}"));
            }
            // Not awaited: the next round overwrites the handle and so drops the effect.
            1 => {}
            _ => self.push_line(&format!("await {handle}")),
        }
        let times = self.rng.between(2, 4);
        self.push_line(&format!("repeat {times} {label}"));
    }

    fn write_fan_out(&mut self) {
        let count = self.rng.between(2, 9);
        let line = match self.pick_later_program().filter(|_| self.rng.percent(50)) {
            Some(later) => format!("brood {} {later}", count.min(4)),
            None => format!("fan {count} {}", self.rng.pick(&TASK_TYPES)),
        };
        self.push_line(&line);
        if self.rng.percent(80) {
            self.push_line("join");
        }
    }

    fn write_send(&mut self) {
        let behind = self.count.saturating_sub(self.number + 1);
        let line = match self.rng.below(4) {
            0 => format!("broadcast {} null", self.rng.pick(&BROADCAST_NAMES)),
            1 if behind > 0 => {
                let later = self.number + 1 + self.rng.below(behind);
                let key = self.rng.pick(&CORRELATION_KEYS);
                if self.rng.percent(50) {
                    format!("publish {} {key} null", start_message(later))
                } else {
                    format!("broadcast {} null", start_broadcast(later))
                }
            }
            _ => {
                let (name, key) = (self.rng.pick(&MESSAGE_NAMES), self.rng.pick(&CORRELATION_KEYS));
                let ttl = self.rng.pick(&["", " ttl=0", " ttl=1000", " ttl=86400000"]);
                let id = self.rng.pick(&["", "", " id=from-a-probe"]);
                format!("publish {name} {key} null{ttl}{id}")
            }
        };
        self.push_line(&line);
    }

    fn write_side_effect(&mut self) {
        let line = match self.rng.below(4) {
            0 => "set span \"PT3S\"\ntimer computed $span".to_owned(),
            1 => "note here".to_owned(),
            2 => format!("attribute colour {}", self.rng.pick(&["red", "blue"])),
            _ => format!("task aside {} detached attempts=2 base=5", self.rng.pick(&TASK_TYPES)),
        };
        self.push_line(&line);
    }

    fn write_schedule(&mut self) {
        let Some(later) = self.pick_later_program() else { return };
        self.handles += 1;
        let handle = format!("h{}", self.handles);
        let span = self.rng.pick(&["PT1M", "PT5M", "PT1H"]);
        let runs = self.rng.between(1, 3);
        let existing = self.rng.pick(&["", " existing=upsert", " existing=add"]);
        let subject = self.rng.pick(&["", " subject=ann"]);
        let context = self.rng.pick(&["", " context={\"n\":1}"]);
        self.push_line(&format!(
            "schedule {handle} {later} every {span} runs={runs}{existing}{subject}{context}"
        ));
        self.push_line(&format!("await {handle}"));
    }

    fn write_failure(&mut self) {
        match self.rng.below(8) {
            0 => self.push_line("fault BROKEN"),
            1 => self.push_line("fail SAD"),
            2..=3 => self.write_incident(),
            _ => self.push_line("throw OUCH"),
        }
    }

    /// An incident that may be answered while the program is still running.
    fn write_incident(&mut self) {
        let handle = self.new_handle();
        self.push_line(&format!("incident {handle} STUCK"));
        for _ in 0..self.rng.below(4) {
            self.push_line("spin 2500");
        }
        let then = self.rng.pick(&["await", "drop"]);
        self.push_line(&format!("{then} {handle}"));
    }
}

#[cfg(test)]
mod tests {
    use meantime_core::{Limits, Notation, Source};

    use super::*;
    use crate::probe::Probe;

    #[test]
    fn every_program_compiles() {
        let mut rng = Randomness::new(1);
        for _ in 0..500 {
            for (number, text) in Programs::generate(6, &mut rng).texts.into_iter().enumerate() {
                let source =
                    Source { name: program_name(number), text: text.into(), files: Vec::new() };
                let compiled = Probe.compile(&source, &Limits::default());
                assert_eq!(compiled.diagnostics, [], "{}", source.text);
                assert_eq!(compiled.definitions[0].name, program_name(number));
            }
        }
    }
}
