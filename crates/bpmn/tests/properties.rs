//! Random well-formed processes end, leave nothing open, and always end in the same way.

use std::fmt::Write;

use meantime_core::{Answer, Event, InstanceId, Json, Limits, Outcome, TaskOutcome, Verdict};
use proptest::prelude::*;

#[path = "support/driver.rs"]
mod driver;
#[path = "support/short.rs"]
mod short;

use driver::Driver;

/// A part of a process with one incoming and one outgoing flow.
#[derive(Debug, Clone)]
enum Block {
    Task,
    Timer,
    Message,
    /// A task with a boundary event whose flow joins again; interrupting or not.
    Guarded {
        interrupting: bool,
    },
    Row(Vec<Block>),
    Exclusive(Vec<Block>),
    Parallel(Vec<Block>),
    Inclusive(Vec<Block>),
    /// An event-based gateway: the first event wins.
    Race,
    Sub(Box<Block>),
    /// A sub-process with an event sub-process that may interrupt it.
    Watched(Box<Block>),
    Multi {
        sequential: bool,
        count: u8,
    },
    Loop(Box<Block>),
}

fn block() -> impl Strategy<Value = Block> {
    let leaf = prop_oneof![
        Just(Block::Task),
        Just(Block::Timer),
        Just(Block::Message),
        any::<bool>().prop_map(|interrupting| Block::Guarded { interrupting }),
        Just(Block::Race),
        (any::<bool>(), 0..4u8).prop_map(|(sequential, count)| Block::Multi { sequential, count }),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        let several = prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            several.clone().prop_map(Block::Row),
            several.clone().prop_map(Block::Exclusive),
            several.clone().prop_map(Block::Parallel),
            several.prop_map(Block::Inclusive),
            inner.clone().prop_map(|it| Block::Sub(Box::new(it))),
            inner.clone().prop_map(|it| Block::Watched(Box::new(it))),
            inner.prop_map(|it| Block::Loop(Box::new(it))),
        ]
    })
}

/// Writes a process, block by block.
#[derive(Default)]
struct Writer {
    out: String,
    next: u32,
}

const TIMER: &str =
    "<timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition>";

impl Writer {
    fn id(&mut self, kind: &str) -> String {
        self.next += 1;
        format!("{kind}{}", self.next)
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{text}");
    }

    /// The first and the last node of a block.
    fn block(&mut self, block: &Block) -> (String, String) {
        match block {
            Block::Task => self.single("task", "serviceTask", " meantime:type=\"t\"", ""),
            Block::Timer => self.single("timer", "intermediateCatchEvent", "", TIMER),
            Block::Message => {
                let inner = "<messageEventDefinition messageRef=\"m\"/>";
                self.single("message", "intermediateCatchEvent", "", inner)
            }
            Block::Guarded { interrupting } => self.guarded(*interrupting),
            Block::Row(blocks) => self.row(blocks),
            Block::Exclusive(blocks) => self.split("exclusiveGateway", "exclusiveGateway", blocks),
            Block::Parallel(blocks) => self.split("parallelGateway", "parallelGateway", blocks),
            Block::Inclusive(blocks) => self.split("inclusiveGateway", "inclusiveGateway", blocks),
            Block::Race => self.race(),
            Block::Sub(inner) => self.sub(inner, false),
            Block::Watched(inner) => self.sub(inner, true),
            Block::Multi { sequential, count } => {
                let inner = format!(
                    "<multiInstanceLoopCharacteristics isSequential=\"{sequential}\">\
                     <loopCardinality>{count}</loopCardinality></multiInstanceLoopCharacteristics>"
                );
                self.single("multi", "serviceTask", " meantime:type=\"t\"", &inner)
            }
            Block::Loop(inner) => self.repeat(inner),
        }
    }

    fn single(&mut self, kind: &str, element: &str, attrs: &str, inner: &str) -> (String, String) {
        let id = self.id(kind);
        self.line(&format!("<{element} id=\"{id}\"{attrs}>{inner}</{element}>"));
        (id.clone(), id)
    }

    fn guarded(&mut self, interrupting: bool) -> (String, String) {
        let (task, _) = self.single("task", "serviceTask", " meantime:type=\"t\"", "");
        let (event, end) = (self.id("boundary"), self.id("merge"));
        self.line(&format!(
            "<boundaryEvent id=\"{event}\" attachedToRef=\"{task}\" \
             cancelActivity=\"{interrupting}\">{TIMER}</boundaryEvent>"
        ));
        self.line(&format!("<exclusiveGateway id=\"{end}\"/>"));
        self.line(&format!("{task} -> {end}"));
        if interrupting {
            self.line(&format!("{event} -> {end}"));
        } else {
            // A second token would run the following nodes twice, so this branch ends here.
            let (side, _) = self.single("task", "serviceTask", " meantime:type=\"t\"", "");
            self.line(&format!("{event} -> {side}"));
        }
        (task, end)
    }

    fn row(&mut self, blocks: &[Block]) -> (String, String) {
        let mut ends: Option<(String, String)> = None;
        for block in blocks {
            let (first, last) = self.block(block);
            ends = Some(match ends {
                None => (first, last),
                Some((start, end)) => {
                    self.line(&format!("{end} -> {first}"));
                    (start, last)
                }
            });
        }
        ends.expect("a row has a block")
    }

    fn split(&mut self, fork: &str, join: &str, blocks: &[Block]) -> (String, String) {
        let (start, end) = (self.id("split"), self.id("join"));
        let last = blocks.len() - 1;
        let mut lines = Vec::new();
        let mut default = String::new();
        for (index, block) in blocks.iter().enumerate() {
            let (first, finish) = self.block(block);
            let plain = fork == "parallelGateway" || index == last;
            if fork != "parallelGateway" && index == last {
                default = format!(" default=\"{start}.{first}\"");
            }
            let condition = if plain { String::new() } else { format!(" : = odd(n + {index})") };
            lines.push(format!("{start} -> {first}{condition}"));
            lines.push(format!("{finish} -> {end}"));
        }
        self.line(&format!("<{fork} id=\"{start}\"{default}/>"));
        self.line(&format!("<{join} id=\"{end}\"/>"));
        for line in &lines {
            self.line(line);
        }
        (start, end)
    }

    fn race(&mut self) -> (String, String) {
        let (gateway, end) = (self.id("race"), self.id("merge"));
        self.line(&format!(
            "<eventBasedGateway id=\"{gateway}\"/><exclusiveGateway id=\"{end}\"/>"
        ));
        for block in [Block::Timer, Block::Message] {
            let (event, _) = self.block(&block);
            self.line(&format!("{gateway} -> {event} -> {end}"));
        }
        (gateway, end)
    }

    fn sub(&mut self, inner: &Block, watched: bool) -> (String, String) {
        let (id, start) = (self.id("sub"), self.id("start"));
        self.line(&format!("<subProcess id=\"{id}\"><startEvent id=\"{start}\"/>"));
        let (first, _) = self.block(inner);
        self.line(&format!("{start} -> {first}"));
        if watched {
            let (event, on) = (self.id("watch"), self.id("on"));
            let task = self.id("task");
            self.line(&format!(
                "<subProcess id=\"{on}\" triggeredByEvent=\"true\"><startEvent id=\"{event}\">{TIMER}\
                 </startEvent><serviceTask id=\"{task}\" meantime:type=\"t\"/></subProcess>"
            ));
            self.line(&format!("{event} -> {task}"));
        }
        self.line("</subProcess>");
        (id.clone(), id)
    }

    /// A loop that runs twice, counted by a script.
    fn repeat(&mut self, inner: &Block) -> (String, String) {
        let (start, end, count) = (self.id("again"), self.id("enough"), self.id("count"));
        let (first, last) = self.block(inner);
        self.line(&format!(
            "<exclusiveGateway id=\"{start}\"/><exclusiveGateway id=\"{end}\" \
             default=\"{end}.{start}\"/><exclusiveGateway id=\"{end}x\"/>\
             <scriptTask id=\"{count}\"><extensionElements><zeebe:script expression=\"= get or \
             else({count}, 0) + 1\" resultVariable=\"{count}\"/></extensionElements></scriptTask>"
        ));
        self.line(&format!("{start} -> {first}"));
        self.line(&format!("{last} -> {count} -> {end}"));
        self.line(&format!("{end} -> {end}x : = {count} >= 2"));
        self.line(&format!("{end} -> {start}"));
        (start, format!("{end}x"))
    }
}

fn model(block: &Block) -> String {
    let mut writer = Writer::default();
    writer.line("<message id=\"m\" name=\"m\"/>");
    writer.line("<startEvent id=\"begin\"/>");
    let (first, last) = writer.block(block);
    writer.line("<endEvent id=\"finish\"/>");
    writer.line(&format!("begin -> {first}"));
    writer.line(&format!("{last} -> finish"));
    short::full(&writer.out)
}

/// Finishes open waits, chosen by the numbers, until the process has ended.
fn play(text: &str, choices: &[u8], limits: &Limits) -> Driver {
    let mut driver = Driver::start(text, "{\"n\":1}", limits.clone());
    let mut choices = choices.iter().cycle();
    for _ in 0..5_000 {
        if driver.outcome.is_some() {
            break;
        }
        let open: Vec<_> = driver.open.keys().copied().collect();
        assert!(!open.is_empty(), "nothing is open and nothing is over: {:?}", driver.incidents);
        let choice = usize::from(*choices.next().unwrap_or(&0)) % open.len();
        let verdict = driver.finish(open[choice]);
        assert!(matches!(verdict, Verdict::Taken { .. }), "what is open is waited for");
    }
    driver
}

fn ended(driver: &Driver) -> bool {
    matches!(driver.outcome, Some(Outcome::Completed { .. }))
}

/// A token that could come around the loop itself waits for the inclusive gateway.
#[test]
fn an_inclusive_join_does_not_wait_for_what_waits_for_it() {
    let inclusive = Block::Inclusive(vec![Block::Task, Block::Task]);
    let block = Block::Loop(Box::new(Block::Parallel(vec![inclusive, Block::Task])));
    let driver = play(&model(&block), &[0], &Limits::default());
    assert_eq!(driver.incidents, Vec::<String>::new());
    assert!(ended(&driver));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn random_processes_end_with_nothing_left(
        block in block(),
        choices in prop::collection::vec(any::<u8>(), 1..40),
    ) {
        let text = model(&block);
        let driver = play(&text, &choices, &Limits::default());
        prop_assert_eq!(&driver.incidents, &Vec::<String>::new(), "{}", text);
        prop_assert!(ended(&driver), "it does not end: {}", text);
        // Every node that was entered has been left exactly once.
        prop_assert!(driver.inside.values().all(|count| *count == 0), "{:?}: {text}", driver.inside);
    }

    #[test]
    fn the_same_events_give_the_same_bytes(
        block in block(),
        choices in prop::collection::vec(any::<u8>(), 1..20),
    ) {
        let text = model(&block);
        let run = || play(&text, &choices, &Limits::default());
        let (one, other) = (run(), run());
        prop_assert_eq!(one.states, other.states);
    }

    #[test]
    fn small_slices_come_to_the_same_end(
        block in block(),
        choices in prop::collection::vec(any::<u8>(), 1..20),
    ) {
        let text = model(&block);
        let limits = Limits { ops_per_slice: 3, effects_per_turn: 6, ..Limits::default() };
        let driver = play(&text, &choices, &limits);
        prop_assert!(ended(&driver), "it does not end: {}", text);
    }

    #[test]
    fn events_that_nobody_waits_for_change_nothing(
        block in block(),
        turn in 0..9u64, ordinal in 0..9u32,
    ) {
        let mut driver = Driver::start(&model(&block), "{\"n\":1}", Limits::default());
        if driver.outcome.is_some() {
            return Ok(());
        }
        let key = InstanceId::new(1, 1).effect(turn + 50, ordinal);
        let (name, payload) = ("m".to_owned(), Json::null());
        let events = [
            Event::TaskDone { key, outcome: TaskOutcome::Completed(Json::null()) },
            Event::TimerFired { key, due_at: driver.now },
            Event::Message { key, name: name.clone(), payload: payload.clone() },
            Event::Signal { key, name, payload },
            Event::EffectDone { key, answer: Answer::Done },
        ];
        let before = driver.state.clone();
        let verdicts = driver.advance(&events);
        prop_assert!(verdicts.iter().all(|verdict| *verdict == Verdict::NotTaken));
        prop_assert_eq!(before, driver.state);
    }
}
