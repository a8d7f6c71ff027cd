//! Random probe programs: every operation of the probe, in ways that come to an end.
//!
//! A probe starts and triggers only probes behind it, and loops only so many times, so that every
//! program rests after a while whatever it is told. Everything else is allowed to go wrong.

use std::fmt::Write as _;

use super::chance::Chance;

/// Names that programs and callers share, so that they meet.
pub(super) const SIGNALS: [&str; 3] = ["go", "stop", "news"];
/// Message names.
pub(super) const MESSAGES: [&str; 2] = ["paid", "sent"];
/// Correlation keys.
pub(super) const KEYS: [&str; 3] = ["k1", "k2", "k3"];
/// Broadcast names.
pub(super) const BROADCASTS: [&str; 2] = ["storm", "calm"];
/// Steps.
pub(super) const STEPS: [&str; 2] = ["form", "sign"];
/// Task types.
pub(super) const TYPES: [&str; 3] = ["mail", "pack", "ship"];
/// Queues; the first is the default queue.
pub(super) const QUEUES: [&str; 2] = ["", "slow"];

const SPANS: [&str; 9] =
    ["PT0S", "PT0.020S", "PT0.500S", "PT2S", "PT30S", "PT5M", "PT1H", "PT26H", "P3D"];

/// The programs of one seed.
#[derive(Debug, Clone)]
pub(super) struct Programs {
    /// Source texts by definition name, `p0`, `p1` …
    pub(super) texts: Vec<String>,
}

/// The name of a program.
pub(super) fn name_of(number: usize) -> String {
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
    /// So many programs.
    pub(super) fn generate(count: usize, chance: &mut Chance) -> Self {
        let texts = (0..count).map(|number| program(number, count, chance)).collect();
        Self { texts }
    }
}

/// One program among so many.
pub(super) fn program(number: usize, count: usize, chance: &mut Chance) -> String {
    let mut writer = Writer { text: String::new(), number, count, handles: 0, labels: 0, chance };
    writer.head();
    writer.body();
    writer.text
}

struct Writer<'a> {
    text: String,
    number: usize,
    count: usize,
    handles: u32,
    labels: u32,
    chance: &'a mut Chance,
}

impl Writer<'_> {
    fn line(&mut self, line: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{line}");
    }

    fn head(&mut self) {
        self.line(&format!("probe p{}", self.number));
        if self.chance.percent(25) {
            let span = self.chance.pick(&SPANS[2..]);
            self.line(&format!("deadline {span} LATE it took too long"));
        }
        if self.chance.percent(25) {
            let line = match self.chance.below(5) {
                0 => format!("trigger message {}", start_message(self.number)),
                1 => format!("trigger signal {}", start_broadcast(self.number)),
                2 => format!("trigger timer after {}", self.chance.pick(&SPANS)),
                3 => format!("trigger timer cycle R3/{}", self.chance.pick(&SPANS[3..])),
                _ => "trigger timer cron */10 * * * *".to_owned(),
            };
            self.line(&line);
        }
        if self.chance.percent(15)
            && let Some(later) = self.later()
        {
            self.line(&format!("compensate {later}"));
        }
        if self.chance.percent(40) {
            self.line("catch caught");
        }
        self.line("---");
    }

    fn body(&mut self) {
        for _ in 0..self.chance.between(1, 5) {
            self.block();
        }
        match self.chance.below(10) {
            0 => self.line("fail SAD"),
            1..=3 => self.line("end $input"),
            _ => self.line("end"),
        }
        self.line("caught:");
        self.line("end \"caught\"");
    }

    /// A probe that this one may start.
    fn later(&mut self) -> Option<String> {
        let behind = self.count.saturating_sub(self.number + 1);
        if behind == 0 {
            return None;
        }
        Some(name_of(self.number + 1 + self.chance.below(behind)))
    }

    fn block(&mut self) {
        match self.chance.below(24) {
            0..=5 => {
                let handle = self.begin();
                self.line(&format!("await {handle}"));
            }
            6..=10 => {
                let handles: Vec<String> =
                    (0..self.chance.between(2, 4)).map(|_| self.begin()).collect();
                self.line(&format!("race {}", handles.join(" ")));
            }
            11..=12 => {
                let handles: Vec<String> =
                    (0..self.chance.between(2, 3)).map(|_| self.begin()).collect();
                self.line(&format!("all {}", handles.join(" ")));
            }
            13 => {
                self.begin();
            }
            14 => {
                let handle = self.begin();
                self.line(&format!("drop {handle}"));
            }
            15..=16 => self.repeated(),
            17 => self.many(),
            18 => {
                // A child may end, or throw, while its parent is at work.
                if self.chance.percent(50) {
                    let handle = self.handle();
                    let child = self.child(&handle);
                    self.line(&child);
                }
                let ops = self.chance.pick(&[20, 200, 900, 2_500]);
                self.line(&format!("spin {ops}"));
            }
            19..=20 => self.send(),
            21 => self.aside(),
            22 => self.schedule(),
            _ => self.trouble(),
        }
    }

    /// A name that nothing has yet.
    fn handle(&mut self) -> String {
        self.handles += 1;
        format!("h{}", self.handles)
    }

    /// Begins something to wait for.
    fn begin(&mut self) -> String {
        let handle = self.handle();
        let line = match self.chance.below(16) {
            0..=3 => self.task(&handle),
            4..=6 => format!("timer {handle} {}", self.chance.pick(&SPANS)),
            7 => format!("until {handle} 2026-01-0{}T00:00:00Z", self.chance.between(1, 4)),
            8..=9 => format!("signal {handle} {}", self.chance.pick(&SIGNALS)),
            10..=11 => {
                let (name, key) = (self.chance.pick(&MESSAGES), self.chance.pick(&KEYS));
                format!("message {handle} {name} {key}")
            }
            12 => format!("listen {handle} {}", self.chance.pick(&BROADCASTS)),
            13 => format!("step {handle} {} field", self.chance.pick(&STEPS)),
            _ => self.child(&handle),
        };
        self.line(&line);
        handle
    }

    fn task(&mut self, handle: &str) -> String {
        let mut line = format!("task {handle} {}", self.chance.pick(&TYPES));
        match self.chance.below(8) {
            0 => line.push_str(" engine"),
            1 => line.push_str(" user"),
            _ => {}
        }
        if self.chance.percent(25) {
            line.push_str(" queue=slow");
        }
        if self.chance.percent(25) {
            let _ = write!(line, " priority={}", self.chance.between(-2, 2));
        }
        if self.chance.percent(50) {
            let (attempts, base) = (self.chance.between(1, 4), self.chance.pick(&[0, 10, 5_000]));
            let _ = write!(line, " attempts={attempts} base={base}");
        }
        if self.chance.percent(20) {
            let _ = write!(line, " timeout={}", self.chance.pick(&[50, 2_000, 60_000]));
        }
        if self.chance.percent(20) {
            let _ = write!(line, " deadline={}", self.chance.pick(&SPANS[2..]));
        }
        line
    }

    fn child(&mut self, handle: &str) -> String {
        let Some(later) = self.later() else {
            return format!("timer {handle} {}", self.chance.pick(&SPANS));
        };
        let mut line = format!("child {handle} {later}");
        match self.chance.below(3) {
            0 => line.push_str(" close=detach"),
            1 => line.push_str(" close=abandon"),
            _ => {}
        }
        if self.chance.percent(15) {
            let _ = write!(line, " key={}", self.chance.pick(&KEYS));
        }
        if self.chance.percent(10) {
            let _ = write!(line, " version={}", self.chance.between(1, 3));
        }
        if self.chance.percent(30) {
            let _ = write!(line, " catch={}", self.chance.pick(&["OUCH", "*"]));
        }
        line
    }

    fn repeated(&mut self) {
        self.labels += 1;
        let label = format!("l{}", self.labels);
        self.line(&format!("{label}:"));
        let handle = self.begin();
        match self.chance.below(3) {
            0 => {
                let other = self.begin();
                self.line(&format!("race {handle} {other}"));
            }
            // Nobody waits: what was begun before is overwritten and forgotten.
            1 => {}
            _ => self.line(&format!("await {handle}")),
        }
        let times = self.chance.between(2, 4);
        self.line(&format!("repeat {times} {label}"));
    }

    fn many(&mut self) {
        let count = self.chance.between(2, 9);
        let line = match self.later().filter(|_| self.chance.percent(50)) {
            Some(later) => format!("brood {} {later}", count.min(4)),
            None => format!("fan {count} {}", self.chance.pick(&TYPES)),
        };
        self.line(&line);
        if self.chance.percent(80) {
            self.line("join");
        }
    }

    fn send(&mut self) {
        let behind = self.count.saturating_sub(self.number + 1);
        let line = match self.chance.below(4) {
            0 => format!("broadcast {} null", self.chance.pick(&BROADCASTS)),
            1 if behind > 0 => {
                let later = self.number + 1 + self.chance.below(behind);
                let key = self.chance.pick(&KEYS);
                if self.chance.percent(50) {
                    format!("publish {} {key} null", start_message(later))
                } else {
                    format!("broadcast {} null", start_broadcast(later))
                }
            }
            _ => {
                let (name, key) = (self.chance.pick(&MESSAGES), self.chance.pick(&KEYS));
                let ttl = self.chance.pick(&["", " ttl=0", " ttl=1000", " ttl=86400000"]);
                let id = self.chance.pick(&["", "", " id=from-a-probe"]);
                format!("publish {name} {key} null{ttl}{id}")
            }
        };
        self.line(&line);
    }

    fn aside(&mut self) {
        let line = match self.chance.below(4) {
            0 => "set span \"PT3S\"\ntimer computed $span".to_owned(),
            1 => "note here".to_owned(),
            2 => format!("attribute colour {}", self.chance.pick(&["red", "blue"])),
            _ => format!("task aside {} detached attempts=2 base=5", self.chance.pick(&TYPES)),
        };
        self.line(&line);
    }

    fn schedule(&mut self) {
        let Some(later) = self.later() else { return };
        self.handles += 1;
        let handle = format!("h{}", self.handles);
        let span = self.chance.pick(&["PT1M", "PT5M", "PT1H"]);
        let runs = self.chance.between(1, 3);
        let existing = self.chance.pick(&["", " existing=upsert", " existing=add"]);
        let subject = self.chance.pick(&["", " subject=ann"]);
        let context = self.chance.pick(&["", " context={\"n\":1}"]);
        self.line(&format!(
            "schedule {handle} {later} every {span} runs={runs}{existing}{subject}{context}"
        ));
        self.line(&format!("await {handle}"));
    }

    fn trouble(&mut self) {
        match self.chance.below(8) {
            0 => self.line("fault BROKEN"),
            1 => self.line("fail SAD"),
            2..=3 => self.trouble_beside(),
            _ => self.line("throw OUCH"),
        }
    }

    /// An incident that somebody may answer while the program is still at work.
    fn trouble_beside(&mut self) {
        let handle = self.handle();
        self.line(&format!("trouble {handle} STUCK"));
        for _ in 0..self.chance.below(4) {
            self.line("spin 2500");
        }
        let then = self.chance.pick(&["await", "drop"]);
        self.line(&format!("{then} {handle}"));
    }
}

#[cfg(test)]
mod tests {
    use meantime_core::{Limits, Notation, Source};

    use super::*;
    use crate::probe::Probe;

    #[test]
    fn every_program_compiles() {
        let mut chance = Chance::new(1);
        for _ in 0..500 {
            for (number, text) in Programs::generate(6, &mut chance).texts.into_iter().enumerate() {
                let source = Source { name: name_of(number), text: text.into(), files: Vec::new() };
                let compiled = Probe.compile(&source, &Limits::default());
                assert_eq!(compiled.diagnostics, [], "{}", source.text);
                assert_eq!(compiled.definitions[0].name, name_of(number));
            }
        }
    }
}
