//! States that wait: steps for a submission, timers for a time.

use meantime_core::Timestamp;
use meantime_core::time;

use super::fields::MappingReader;
use super::reader::Reader;
use super::scope::ReadState;
use crate::code::Code;
use crate::definition::{
    Kind, Projection, RESERVED_STATUS_FIELDS, StateBody, StateRef, Step, StepKind, StepTimeout,
    Template, TimeSource, Timer,
};
use crate::yaml::Node;

impl Reader<'_> {
    /// Rules 33 to 39.
    pub(super) fn step(&mut self, fields: &mut MappingReader<'_>, kind: StepKind) -> ReadState {
        if self.kind == Kind::Api {
            let message = format!("an API has no `{}`", kind.name());
            self.report
                .error(Code::StepKind, fields.span, message)
                .help("an API answers one request; use `kind: Journey`");
        }
        let block = fields.entry(kind.name());
        if block.is_none() {
            let name = fields.name(kind.name());
            self.report.error(Code::StepInput, fields.span, format!("`{name}` is missing"));
        }
        let mut beside = StepParts::read(fields, kind);
        let step = match block.map(|entry| &entry.value).filter(|node| !node.is_null()) {
            Some(node) => {
                let mut inner = self.open(node, &fields.name(kind.name()), Code::Shape)?;
                beside.prefer_block(&mut inner, kind);
                let step = self.step_body(&mut inner, &mut beside, kind);
                inner.finish(&mut self.report);
                step
            }
            // `wait:` with its keys beside it instead of inside.
            None if beside.input.is_some() => self.step_body(fields, &mut beside, kind),
            None => None,
        };
        if let Some(node) = beside.used_beside {
            let message = format!("keys of `{}` are written next to it", kind.name());
            self.report
                .warn(Code::StepBeside, node.span, message)
                .help(format!("move them into the block `{}`", kind.name()));
        }
        let next = self.step_next(fields, &beside);
        Some((StateBody::Step(Box::new(step?)), next))
    }

    fn step_body(
        &mut self,
        fields: &mut MappingReader<'_>,
        beside: &mut StepParts<'_>,
        kind: StepKind,
    ) -> Option<Step> {
        if kind == StepKind::Wait {
            if let Some(node) = beside.channel {
                self.one_of(node, "wait.channel", Code::Channel, &[("manual", ())]);
            } else {
                let message = "`wait.channel` is missing";
                self.report
                    .error(Code::Channel, fields.span, message)
                    .help("write `channel: manual`");
            }
        }
        let what = format!("{}.input", kind.name());
        let input = match beside.input {
            Some(node) => self.schema_block(node, &what, Code::StepInput),
            None => {
                let message = format!("`{what}` is missing");
                self.report.error(Code::StepInput, fields.span, message);
                None
            }
        };
        let response = match beside.response {
            Some(node) => Some(self.step_response(node, beside, kind)?),
            None => None,
        };
        let timeout = self.step_timeout(fields, kind);
        Some(Step { kind, input: input?, response, timeout: timeout? })
    }

    fn step_response<'n>(
        &mut self,
        node: &'n Node,
        beside: &mut StepParts<'n>,
        kind: StepKind,
    ) -> Option<Projection> {
        let what = format!("{}.response", kind.name());
        let mut fields = self.open(node, &what, Code::StepResponse)?;
        let output_var = self.required(&mut fields, "outputVar", Code::StepResponse);
        let output_var = output_var
            .and_then(|node| self.identifier(node, &fields.name("outputVar"), Code::StepResponse));
        if let Some(node) = fields.get("schema") {
            self.projected_schema(node, &what, &RESERVED_STATUS_FIELDS, Code::StepResponse);
        }
        beside.default_in_response = fields.get("default");
        fields.finish(&mut self.report);
        Some(Projection { output_var: output_var? })
    }

    /// Rule 36: both or none. The outer option is an error.
    #[expect(clippy::option_option, reason = "none is an error, none inside is no timeout")]
    fn step_timeout(
        &mut self,
        fields: &mut MappingReader<'_>,
        kind: StepKind,
    ) -> Option<Option<StepTimeout>> {
        let (seconds, next) = (fields.get("timeoutSec"), fields.get("onTimeout"));
        let name = kind.name();
        match (seconds, next) {
            (None, None) => Some(None),
            (Some(seconds), Some(next)) => {
                let code = Code::StepTimeout;
                let seconds = self.integer(seconds, &format!("{name}.timeoutSec"), code, 1);
                let next = self.target(next, &format!("{name}.onTimeout"), code);
                Some(Some(StepTimeout { seconds: seconds?, next: next? }))
            }
            (Some(node), None) => {
                let message = format!("`{name}.timeoutSec` without `onTimeout`");
                self.report
                    .error(Code::StepTimeout, node.span, message)
                    .help("say with `next` what follows when no submission arrives in time");
                None
            }
            (None, Some(node)) => {
                let message = format!("`{name}.onTimeout` without `timeoutSec`");
                self.report
                    .error(Code::StepTimeout, node.span, message)
                    .help("say how long the step waits");
                None
            }
        }
    }

    /// Rule 37, with the spellings of D1 and D2.
    fn step_next(
        &mut self,
        fields: &mut MappingReader<'_>,
        beside: &StepParts<'_>,
    ) -> Option<StateRef> {
        let spellings = [
            (fields.get("next"), None),
            (beside.default_inside, Some(Code::StepDefault)),
            (fields.get("default"), Some(Code::StateDefault)),
            (beside.default_in_response, Some(Code::StateDefault)),
        ];
        let found = spellings.into_iter().find_map(|(node, code)| Some((node?, code)));
        let Some((node, code)) = found else {
            let name = fields.name("next");
            self.report.error(Code::StepNext, fields.span, format!("`{name}` is missing"));
            return None;
        };
        if let Some(code) = code {
            self.report
                .warn(code, node.span, "`default` is read as `next`")
                .help(format!("write `{}`", fields.name("next")));
        }
        self.target(node, &fields.name("next"), Code::StepNext)
    }

    /// Rules 11 to 17.
    pub(super) fn timer(&mut self, fields: &mut MappingReader<'_>) -> ReadState {
        if self.kind == Kind::Api {
            self.report
                .error(Code::TimerKind, fields.span, "an API has no `timer`")
                .help("an API answers one request; use `kind: Journey`");
        }
        let node = self.required(fields, "timer", Code::TimerXor);
        let timer = node.and_then(|node| {
            let mut inner = self.open(node, &fields.name("timer"), Code::TimerXor)?;
            let timer = self.timer_body(&mut inner);
            self.refuse_step_keys(&mut inner);
            inner.finish(&mut self.report);
            timer
        });
        self.refuse_step_keys(fields);
        let next = self.next(fields, Code::TimerNext);
        Some((StateBody::Timer(timer?), next))
    }

    fn timer_body(&mut self, fields: &mut MappingReader<'_>) -> Option<Timer> {
        match (fields.get("duration"), fields.get("until")) {
            (Some(node), None) => {
                let what = fields.name("duration");
                let duration =
                    self.timed(node, &what, Code::TimerDuration, Code::TimerMapper, |it| {
                        time::Span::parse_delay(it).map_err(|error| error.to_string())
                    });
                Some(Timer::Duration(duration?))
            }
            (None, Some(node)) => {
                let what = fields.name("until");
                let until = self.timed(node, &what, Code::TimerUntil, Code::TimerMapper, instant);
                Some(Timer::Until(until?))
            }
            (one, _) => {
                let problem = if one.is_some() { "both" } else { "neither" };
                let message = format!("a timer has {problem} of `duration` and `until`");
                self.report
                    .error(Code::TimerXor, fields.span, message)
                    .help("write exactly one: how long, or until when");
                None
            }
        }
    }

    /// A literal, a text with placeholders (D8), or a mapper.
    pub(super) fn timed<T>(
        &mut self,
        node: &Node,
        what: &str,
        literal: Code,
        mapper: Code,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Option<TimeSource<T>> {
        let Some(text) = node.text() else {
            if node.entries().is_none() {
                let message = format!("`{what}` is {}, neither text nor a mapper", node.kind());
                self.report.error(mapper, node.span, message).help("quote a literal");
                return None;
            }
            let bindings = self.bindings();
            return self.mapper_object(node, what, mapper, &bindings).map(TimeSource::Mapper);
        };
        if text.contains("${") {
            self.report
                .warn(Code::TimerTemplate, node.span, format!("`{what}` has a placeholder"))
                .help("write a mapper");
            return self.template(node, what, literal).map(TimeSource::Template);
        }
        match parse(text) {
            Ok(value) => Some(TimeSource::Literal(value)),
            Err(problem) => {
                self.report.error(literal, node.span, format!("`{what}`: {problem}"));
                None
            }
        }
    }

    /// A text with placeholders.
    pub(super) fn template(&mut self, node: &Node, what: &str, code: Code) -> Option<Template> {
        let text = self.text(node, what, code)?;
        match Template::parse(&text) {
            Ok(template) => {
                for key in template.config_keys().map(str::to_owned).collect::<Vec<_>>() {
                    self.use_config(&key, node.span);
                }
                Some(template)
            }
            Err(error) => {
                self.report.error(code, node.span, format!("`{what}`: {}", error.message()));
                None
            }
        }
    }

    /// Rule 17: a timer takes no input.
    fn refuse_step_keys(&mut self, fields: &mut MappingReader<'_>) {
        for key in ["input", "response", "timeoutSec", "onTimeout"] {
            if let Some(entry) = fields.entry(key) {
                let message = format!("a timer has no `{key}`");
                self.report
                    .error(Code::TimerKeys, entry.key_span, message)
                    .help("a timer takes no input; put a `wait` into another branch");
            }
        }
    }
}

/// An instant in the form of rule 14.
pub(super) fn instant(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse(text).map_err(|error| error.to_string())
}

/// The parts of a step, which may be in its block or beside it (D3).
#[derive(Default)]
struct StepParts<'n> {
    channel: Option<&'n Node>,
    input: Option<&'n Node>,
    response: Option<&'n Node>,
    used_beside: Option<&'n Node>,
    default_inside: Option<&'n Node>,
    default_in_response: Option<&'n Node>,
}

impl<'n> StepParts<'n> {
    fn read(fields: &mut MappingReader<'n>, kind: StepKind) -> Self {
        let mut beside = Self { response: fields.get("response"), ..Self::default() };
        beside.input = fields.get("input");
        if kind == StepKind::Wait {
            beside.channel = fields.get("channel");
        }
        beside.used_beside = beside.response.or(beside.input).or(beside.channel);
        beside
    }

    /// A part inside the block replaces the one beside it.
    fn prefer_block(&mut self, inner: &mut MappingReader<'n>, kind: StepKind) {
        self.input = inner.get("input").or(self.input);
        self.response = inner.get("response").or(self.response);
        if kind == StepKind::Wait {
            self.channel = inner.get("channel").or(self.channel);
        }
        self.default_inside = inner.get("default");
    }
}
