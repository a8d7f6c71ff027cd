//! The text of a probe, and its operations.
//!
//! ```text
//! probe NAME
//! deadline PT1H CODE REASON        execution deadline with its declared outcome
//! trigger message NAME | signal NAME | timer after SPAN | at INSTANT | cycle CYCLE | cron EXPR
//! compensate DEFINITION            run it as a child before ending by fail, cancel or deadline
//! catch LABEL                      where a failing await goes
//! ---
//! LABEL:
//! task H TYPE [queue=Q] [priority=N] [attempts=N] [base=MS] [timeout=MS] [deadline=SPAN]
//!      [detached] [user] [engine] [input=JSON]
//! timer H SPAN [zone=Z] | timer H $VAR | until H INSTANT
//! signal H NAME | message H NAME KEY | listen H NAME
//! step H ID FIELD                  a step that wants an object with FIELD
//! child H DEFINITION [key=K] [version=N] [close=cancel|detach|abandon] [catch=CODE] [input=JSON]
//! await H | race H… | all H… | drop H | incident H CODE
//! publish NAME KEY JSON [ttl=MS] [id=ID] | broadcast NAME JSON
//! set VAR JSON | note TEXT | attribute NAME VALUE | goto LABEL | repeat N LABEL
//! spin OPS | fan N TYPE | brood N DEFINITION | join
//! schedule H DEFINITION every SPAN [at=INSTANT] [from=LABEL] [runs=N] [subject=S] [context=JSON]
//!      [existing=fail|upsert|add]
//! throw CODE | fault CODE | end [JSON|$VAR] | fail CODE
//! ```

use std::collections::BTreeMap;

use meantime_core::time::{Span, Zone};
use meantime_core::{
    ChildSpec, Compiled, Definition, Diagnostic, Execution, Json, OnExisting, ParentClose,
    Position, Recurrence, RetryPolicy, Source, TaskKind, TaskSpec, Timestamp, Trigger,
};
use std::sync::Arc;

/// A compiled probe.
#[derive(Debug, Clone, Default)]
pub(super) struct Program {
    pub(super) compensate: Option<String>,
    /// Code and reason of the declared outcome at the deadline.
    pub(super) timeout: Option<(String, String)>,
    pub(super) catch: Option<usize>,
    pub(super) operations: Vec<Operation>,
}

/// One operation.
#[derive(Debug, Clone)]
pub(super) enum Operation {
    Task(String, Box<TaskSpec>, Option<Span>),
    Timer(String, Span, Zone),
    /// A timer whose duration is in a variable.
    TimerOf(String, String),
    Until(String, Timestamp),
    Subscribe(String, meantime_core::Channel),
    Step(String, String, String),
    Child(String, Box<ChildSpec>),
    Await(String),
    Race(Vec<String>),
    All(Vec<String>),
    Drop(String),
    /// An incident with a handle: a retry completes it, dropping it cancels it.
    Incident(String, String),
    Publish(meantime_core::Message),
    Broadcast(String, Json),
    Set(String, Json),
    Note(String),
    Attribute(String, String),
    Goto(usize),
    Repeat(u32, usize),
    Spin(u64),
    Fan(u32, String),
    Brood(u32, String),
    Join,
    Schedule(String, Box<Scheduled>),
    Throw(String),
    Fault(String),
    End(String),
    Fail(String),
}

/// A schedule that a probe creates for a version of a definition.
#[derive(Debug, Clone)]
pub(super) struct Scheduled {
    pub(super) definition: String,
    pub(super) every: Span,
    pub(super) at: Option<Timestamp>,
    pub(super) from: Option<String>,
    pub(super) runs: Option<u64>,
    pub(super) subject: Option<String>,
    pub(super) context: Option<Json>,
    pub(super) existing: OnExisting,
}

/// Compiles a source: one or more probes, each beginning with `probe NAME`.
pub(super) fn compile(source: &Source) -> Compiled {
    let mut compiled = Compiled::default();
    let mut begun: Option<Parser<'_>> = None;
    for (number, line) in source.text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["probe", name] = words[..] {
            begun.take().into_iter().for_each(|parser| parser.finish(&mut compiled));
            begun = Some(Parser::new(name));
        } else if let Some(parser) = &mut begun {
            if !words.is_empty() {
                parser.lines.push((number + 1, words));
            }
        } else if !words.is_empty() {
            let at = Position { line: u32::try_from(number + 1).unwrap_or(1), column: 1 };
            let problem = Diagnostic::error("P001", "expected `probe NAME`", at);
            compiled.diagnostics.push(problem.with_help("a probe begins with its name"));
        }
    }
    begun.take().into_iter().for_each(|parser| parser.finish(&mut compiled));
    check_scheduled(&mut compiled);
    compiled
}

/// Scheduled runs are non-interactive: no client answers a step (S9).
fn check_scheduled(compiled: &mut Compiled) {
    let programs: BTreeMap<&str, &Program> = compiled
        .definitions
        .iter()
        .filter_map(|it| Some((it.name.as_str(), it.body::<Program>()?)))
        .collect();
    let mut problems = Vec::new();
    for operation in programs.values().flat_map(|program| &program.operations) {
        let Operation::Schedule(_, scheduled) = operation else { continue };
        let reached = programs.get(scheduled.definition.as_str()).into_iter();
        for operation in reached.flat_map(|program| &program.operations) {
            if let Operation::Step(_, id, _) = operation {
                let text = format!("schedule of {:?} reaches step {id:?}", scheduled.definition);
                let problem = Diagnostic::error("P005", text, Position { line: 1, column: 1 });
                problems.push(problem.with_help("schedule a definition that waits for nobody"));
            }
        }
    }
    compiled.diagnostics.extend(problems);
}

struct Parser<'a> {
    name: &'a str,
    lines: Vec<(usize, Vec<&'a str>)>,
}

impl<'a> Parser<'a> {
    fn new(name: &'a str) -> Self {
        Self { name, lines: Vec::new() }
    }

    fn finish(self, compiled: &mut Compiled) {
        let mut labels = BTreeMap::new();
        let mut count = 0;
        for (_, words) in &self.lines {
            match words[..] {
                [label] if label.ends_with(':') => {
                    labels.insert(label.trim_end_matches(':'), count);
                }
                _ if is_directive(words) => {}
                _ => count += 1,
            }
        }
        let mut program = Program::default();
        let (mut execution, mut triggers) = (None, Vec::new());
        for (line, words) in &self.lines {
            let outcome = match &words[..] {
                ["---"] => Ok(()),
                [label] if label.ends_with(':') => Ok(()),
                ["deadline", span, code, reason @ ..] => Span::parse_delay(span)
                    .map(|max_duration| {
                        let (code, reason) = ((*code).to_owned(), reason.join(" "));
                        program.timeout = Some((code.clone(), reason.clone()));
                        execution =
                            Some(Execution { max_duration, zone: Zone::utc(), code, reason });
                    })
                    .map_err(|error| (error.code().to_owned(), error.to_string())),
                ["trigger", "timer", kind, text @ ..] => {
                    timer_start(kind, &text.join(" ")).map(|it| triggers.push(it))
                }
                ["trigger", kind, name] => {
                    let (name, element) = ((*name).to_owned(), "start".to_owned());
                    triggers.push(match *kind {
                        "message" => Trigger::Message { name, element },
                        _ => Trigger::Signal { name, element },
                    });
                    Ok(())
                }
                ["compensate", name] => {
                    program.compensate = Some((*name).to_owned());
                    Ok(())
                }
                ["catch", label] => {
                    program.catch = labels.get(label).copied();
                    Ok(())
                }
                words => operation(words, &labels).map(|it| program.operations.push(it)),
            };
            if let Err((code, message)) = outcome {
                let at = Position { line: u32::try_from(*line).unwrap_or(1), column: 1 };
                compiled.diagnostics.push(Diagnostic::error(code, message, at));
            }
        }
        compiled.definitions.push(Definition {
            name: self.name.to_owned(),
            label: None,
            triggers,
            execution,
            system: false,
            body: Arc::new(program),
        });
    }
}

fn is_directive(words: &[&str]) -> bool {
    matches!(words[0], "---" | "deadline" | "trigger" | "compensate" | "catch")
}

type Parsed<T> = Result<T, (String, String)>;

fn operation(words: &[&str], labels: &BTreeMap<&str, usize>) -> Parsed<Operation> {
    let own = |word: &str| word.to_owned();
    let label = |word: &str| {
        let unknown = || ("P002".to_owned(), format!("no label {word:?}"));
        labels.get(word).copied().ok_or_else(unknown)
    };
    Ok(match words {
        ["task", name, kind, options @ ..] => task(name, kind, options)?,
        ["timer", name, span, options @ ..] => match span.strip_prefix('$') {
            Some(variable) => Operation::TimerOf(own(name), own(variable)),
            None => {
                let zone = option(options, "zone").map_or(Ok(Zone::utc()), Zone::parse);
                Operation::Timer(own(name), time(Span::parse_delay(span))?, time(zone)?)
            }
        },
        ["until", name, at] => Operation::Until(own(name), time(Timestamp::parse(at))?),
        ["signal", name, signal] => {
            Operation::Subscribe(own(name), meantime_core::Channel::Signal { name: own(signal) })
        }
        ["message", name, message, key] => {
            let (message, key) = (own(message), own(key));
            Operation::Subscribe(own(name), meantime_core::Channel::Message { name: message, key })
        }
        ["listen", name, signal] => {
            Operation::Subscribe(own(name), meantime_core::Channel::Broadcast { name: own(signal) })
        }
        ["step", name, id, field] => Operation::Step(own(name), own(id), own(field)),
        ["child", name, definition, options @ ..] => child(name, definition, options)?,
        ["await", name] => Operation::Await(own(name)),
        ["race", names @ ..] => Operation::Race(names.iter().map(|it| own(it)).collect()),
        ["all", names @ ..] => Operation::All(names.iter().map(|it| own(it)).collect()),
        ["drop", name] => Operation::Drop(own(name)),
        ["incident", name, code] => Operation::Incident(own(name), own(code)),
        ["publish", name, key, payload, options @ ..] => {
            Operation::Publish(meantime_core::Message {
                name: own(name),
                key: own(key),
                payload: json(payload)?,
                ttl_ms: option(options, "ttl").map(number).transpose()?,
                id: option(options, "id").map(own),
            })
        }
        ["broadcast", name, payload] => Operation::Broadcast(own(name), json(payload)?),
        ["set", name, value] => Operation::Set(own(name), json(value)?),
        ["note", text @ ..] => Operation::Note(text.join(" ")),
        ["attribute", name, value] => Operation::Attribute(own(name), own(value)),
        ["goto", to] => Operation::Goto(label(to)?),
        ["repeat", times, to] => Operation::Repeat(number(times)?, label(to)?),
        ["spin", ops] => Operation::Spin(number(ops)?),
        ["fan", count, kind] => Operation::Fan(number(count)?, own(kind)),
        ["brood", count, definition] => Operation::Brood(number(count)?, own(definition)),
        ["join"] => Operation::Join,
        ["schedule", name, definition, "every", span, options @ ..] => {
            let scheduled = Scheduled {
                definition: own(definition),
                every: time(Span::parse(span))?,
                at: option(options, "at").map(|at| time(Timestamp::parse(at))).transpose()?,
                from: option(options, "from").map(own),
                runs: option(options, "runs").map(number).transpose()?,
                subject: option(options, "subject").map(own),
                context: option(options, "context").map(json).transpose()?,
                existing: match option(options, "existing") {
                    Some("upsert") => OnExisting::Upsert,
                    Some("add") => OnExisting::AddAnother,
                    _ => OnExisting::Fail,
                },
            };
            Operation::Schedule(own(name), Box::new(scheduled))
        }
        ["throw", code] => Operation::Throw(own(code)),
        ["fault", code] => Operation::Fault(own(code)),
        ["end"] => Operation::End(own("null")),
        ["end", value] => Operation::End(own(value)),
        ["fail", code] => Operation::Fail(own(code)),
        _ => return Err(("P003".to_owned(), format!("unknown operation {:?}", words.join(" ")))),
    })
}

/// A timer trigger, checked here so that the deploy can rely on it (B1).
fn timer_start(kind: &str, text: &str) -> Parsed<Trigger> {
    let (text, utc) = (text.to_owned(), "UTC".to_owned());
    let recurrence = match kind {
        "after" => Recurrence::After(text, utc),
        "at" => Recurrence::At(time(Timestamp::parse(&text))?),
        "cycle" => Recurrence::Cycle(text, utc),
        _ => Recurrence::Cron(text, utc),
    };
    time(recurrence.armed(Timestamp::default()))?;
    Ok(Trigger::Timer { element: "start".to_owned(), recurrence })
}

fn task(name: &str, kind: &str, options: &[&str]) -> Parsed<Operation> {
    let input = option(options, "input").map_or(Ok(Json::null()), json)?;
    let mut spec = TaskSpec::worker(kind, name, input);
    option(options, "queue").unwrap_or_default().clone_into(&mut spec.queue);
    spec.priority = option(options, "priority").map_or(Ok(0), number)?;
    let defaults = RetryPolicy { jitter: false, ..RetryPolicy::default() };
    spec.retry = RetryPolicy {
        max_attempts: option(options, "attempts").map_or(Ok(defaults.max_attempts), number)?,
        base_ms: option(options, "base").map_or(Ok(defaults.base_ms), number)?,
        ..defaults
    };
    spec.timeout_ms = option(options, "timeout").map(number).transpose()?;
    spec.detached = options.contains(&"detached");
    if options.contains(&"user") {
        spec.kind = TaskKind::User;
    } else if options.contains(&"engine") {
        spec.kind = TaskKind::Engine;
    }
    let deadline = option(options, "deadline").map(Span::parse_delay).transpose();
    Ok(Operation::Task(name.to_owned(), Box::new(spec), time(deadline)?))
}

fn child(name: &str, definition: &str, options: &[&str]) -> Parsed<Operation> {
    let parent_close = match option(options, "close") {
        Some("detach") => ParentClose::Detach,
        Some("abandon") => ParentClose::Abandon,
        _ => ParentClose::Cancel,
    };
    let input = option(options, "input").map_or(Ok(Json::null()), json)?;
    let spec = ChildSpec {
        version: option(options, "version").map(number).transpose()?,
        key: option(options, "key").map(str::to_owned),
        catches: option(options, "catch").map(str::to_owned).into_iter().collect(),
        parent_close,
        ..ChildSpec::new(definition, name, input)
    };
    Ok(Operation::Child(name.to_owned(), Box::new(spec)))
}

fn option<'a>(options: &[&'a str], name: &str) -> Option<&'a str> {
    options.iter().find_map(|it| it.strip_prefix(name)?.strip_prefix('='))
}

fn number<T: std::str::FromStr>(text: &str) -> Parsed<T> {
    text.parse().map_err(|_| ("P004".to_owned(), format!("{text:?} is not a number")))
}

fn json(text: &str) -> Parsed<Json> {
    Json::parse(text).map_err(|error| (error.code().to_owned(), error.to_string()))
}

fn time<T>(parsed: Result<T, meantime_core::time::TimeError>) -> Parsed<T> {
    parsed.map_err(|error| (error.code().to_owned(), error.to_string()))
}
