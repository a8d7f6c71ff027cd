//! What is accepted, and how everything else is refused: by name, with line and help, all at once.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use std::fmt::Write;

use expect_test::{Expect, expect};
use meantime_bpmn::Bpmn;
use meantime_core::{Compiled, Limits, Notation, Source, Trigger};

#[path = "support/short.rs"]
mod short;

fn compile(text: &str) -> Compiled {
    let source = Source { name: "test".to_owned(), text: text.into(), files: Vec::new() };
    Bpmn.compile(&source, &Limits::default())
}

/// Checks the diagnostics of a model in shorthand.
fn check(text: &str, expected: Expect) {
    check_whole(&short::full(text), expected);
}

#[expect(clippy::needless_pass_by_value, reason = "what is written at the call")]
fn check_whole(text: &str, expected: Expect) {
    let compiled = compile(text);
    let mut lines = Vec::new();
    for found in &compiled.diagnostics {
        let at = found.start;
        lines.push(format!(
            "{}:{} {:?} {} {}",
            at.line, at.column, found.severity, found.code, found.message
        ));
        lines.extend(found.help.iter().map(|help| format!("  help: {help}")));
    }
    lines.extend(compiled.definitions.iter().map(|it| format!("deploys {}", it.name)));
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn text_that_is_no_xml() {
    check_whole("not xml", expect!["1:1 Error B001 this is not XML: unknown token at 1:1"]);
    check_whole(
        "<definitions",
        expect!["1:1 Error B001 this is not XML: the document does not have a root node"],
    );
    check_whole(
        "<a><b></a>",
        expect!["1:7 Error B001 this is not XML: expected 'b' tag, not 'a' at 1:7"],
    );
}

#[test]
fn xml_that_is_no_bpmn() {
    check_whole(
        "<html/>",
        expect![[r#"
        1:1 Error B003 the outermost element is `html`, not `definitions` of BPMN 2.0
          help: save the model as BPMN 2.0 XML (http://www.omg.org/spec/BPMN/20100524/MODEL)"#]],
    );
    check_whole(
        "<definitions xmlns=\"http://other\"/>",
        expect![[r#"
            1:1 Error B003 the outermost element is `definitions` of http://other, not `definitions` of BPMN 2.0
              help: save the model as BPMN 2.0 XML (http://www.omg.org/spec/BPMN/20100524/MODEL)"#]],
    );
}

#[test]
fn document_types_and_bombs_are_refused() {
    let bomb =
        "<!DOCTYPE lolz [<!ENTITY lol \"lol\"><!ENTITY lol2 \"&lol;&lol;\">]><lolz>&lol2;</lolz>";
    check_whole(
        bomb,
        expect![[r#"
        1:1 Error B001 document types are refused
          help: remove the <!DOCTYPE>; BPMN files have none"#]],
    );
    let external = "<!DOCTYPE x [<!ENTITY f SYSTEM \"file:///etc/passwd\">]><x>&f;</x>";
    check_whole(
        external,
        expect![[r#"
        1:1 Error B001 document types are refused
          help: remove the <!DOCTYPE>; BPMN files have none"#]],
    );
}

#[test]
fn an_abyss_is_refused() {
    let deep = format!("{}{}", "<a>".repeat(100_000), "</a>".repeat(100_000));
    check_whole(&deep, expect!["1:769 Error B002 elements are nested more than 256 levels deep"]);
    let comments = format!("<a>{}</a>", "<!-- <b> -->".repeat(1_000));
    check_whole(
        &comments,
        expect![[r#"
        1:1 Error B003 the outermost element is `a`, not `definitions` of BPMN 2.0
          help: save the model as BPMN 2.0 XML (http://www.omg.org/spec/BPMN/20100524/MODEL)"#]],
    );
}

#[test]
fn huge_files_are_refused() {
    let limits = Limits { source_bytes: 100, ..Limits::default() };
    let text = format!("<a>{}</a>", "x".repeat(200));
    let source = Source { name: "test".to_owned(), text: text.into(), files: Vec::new() };
    let found = Bpmn.compile(&source, &limits).diagnostics;
    assert_eq!(found[0].code, "B002");
    let many = format!("<a>{}</a>", "<b/>".repeat(600_000));
    check_whole(&many, expect!["1:1 Error B002 the file has more than 200000 elements"]);
}

#[test]
fn a_file_without_an_executable_process() {
    check(
        "<process id=\"p\"><startEvent id=\"s\"/></process>",
        expect![[r#"
        2:1 Error no_executable_process no process is marked as executable
          help: tick Executable in the modeler, or write isExecutable="true" on the process"#]],
    );
    check(
        "<process id=\"p\" isExecutable=\"false\"/>",
        expect![[r#"
        2:1 Error no_executable_process no process is marked as executable
          help: tick Executable in the modeler, or write isExecutable="true" on the process"#]],
    );
}

#[test]
fn any_prefix_will_do() {
    let text = r#"<?xml version="1.0" encoding="UTF-8"?>
<semantic:definitions xmlns:semantic="http://www.omg.org/spec/BPMN/20100524/MODEL">
  <semantic:process id="p" isExecutable="true">
    <semantic:startEvent id="s"><semantic:outgoing>f</semantic:outgoing></semantic:startEvent>
    <semantic:endEvent id="e"><semantic:incoming>f</semantic:incoming></semantic:endEvent>
    <semantic:sequenceFlow id="f" sourceRef="s" targetRef="e"/>
  </semantic:process>
</semantic:definitions>"#;
    check_whole(text, expect!["deploys p"]);
}

#[test]
fn all_problems_at_once() {
    check(
        r#"<startEvent id="start"/>
<serviceTask id="work"/>
<userTask id="work"/>
<choreographyTask id="dance"/>
<scriptTask id="py" scriptFormat="python"><script>x</script></scriptTask>
<intermediateCatchEvent id="wait"><timerEventDefinition><timeDuration>5 minutes</timeDuration></timerEventDefinition></intermediateCatchEvent>
start -> nowhere
<boundaryEvent id="b" attachedToRef="gone"><timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition></boundaryEvent>"#,
        expect![[r#"
            5:1 Error B012 serviceTask `work`: no worker is named for this
              help: set zeebe:taskDefinition type, camunda:topic or meantime:type
            5:1 Warning B021 `work`: no flow leads here, so it never runs
              help: connect it, or remove it
            6:1 Error B007 userTask `work`: the id is used twice
            6:1 Warning B021 `work`: no flow leads here, so it never runs
              help: connect it, or remove it
            7:1 Error B004 choreographyTask `dance`: this element is not executed
            8:1 Error B014 scriptTask `py`: scripts in `python` do not run here
              help: use javascript, flow, dataweave or feel, or a service task
            8:1 Warning B021 `py`: no flow leads here, so it never runs
              help: connect it, or remove it
            9:1 Warning B021 `wait`: no flow leads here, so it never runs
              help: connect it, or remove it
            9:57 Error B009 timeDuration of intermediateCatchEvent `wait`: `5 minutes`: invalid duration: expected `P` at offset 0
              help: write for example `PT10M`, `P1D` or `P1Y2M3DT4H5M6.5S`
            10:1 Error B008 sequenceFlow `start.nowhere`: targetRef: there is no flow node `nowhere` in this process
            11:1 Error B008 boundaryEvent `b`: attachedToRef: there is no activity `gone` in the same scope"#]],
    );
}

#[test]
fn timers_are_checked_at_deploy() {
    let timer = |inner: &str| {
        format!(
            "<startEvent id=\"s\"/><intermediateCatchEvent id=\"t\"><timerEventDefinition>{inner}\
             </timerEventDefinition></intermediateCatchEvent>\ns -> t"
        )
    };
    check(
        &timer(""),
        expect![[r#"
            4:52 Error B009 timerEventDefinition of intermediateCatchEvent `t`: the time is missing
              help: set a date, a duration or a cycle in the modeler"#]],
    );
    check(
        &timer("<timeDuration/>"),
        expect![[r#"
            4:52 Error B009 timerEventDefinition of intermediateCatchEvent `t`: the time is missing
              help: set a date, a duration or a cycle in the modeler"#]],
    );
    check(
        &timer("<timeDuration>PT</timeDuration>"),
        expect![[r#"
            4:74 Error B009 timeDuration of intermediateCatchEvent `t`: `PT`: invalid duration: expected hours, minutes or seconds after `T` at offset 2
              help: write for example `PT10M`, `P1D` or `P1Y2M3DT4H5M6.5S`"#]],
    );
    check(
        &timer("<timeDuration>-PT1H</timeDuration>"),
        expect![[r#"
            4:74 Error B009 timeDuration of intermediateCatchEvent `t`: `-PT1H`: a delay cannot be negative: -PT1H
              help: remove the leading `-`"#]],
    );
    check(
        &timer("<timeDate>2026-03-01T10:00:00</timeDate>"),
        expect![[r#"
            4:74 Error B009 timeDate of intermediateCatchEvent `t`: `2026-03-01T10:00:00`: invalid instant: expected `Z` or an offset at offset 19
              help: a local time names no instant; add `Z` or an offset such as `+01:00`"#]],
    );
    check(
        &timer("<timeDate>2026-03-01T10:00:00Z</timeDate><timeDuration>PT1H</timeDuration>"),
        expect![
            "4:115 Error B009 timeDuration of intermediateCatchEvent `t`: a timer has exactly one of timeDate, timeDuration and timeCycle"
        ],
    );
    check(
        &timer("<timeCycle>R3/PT10M</timeCycle>"),
        expect![[r#"
        4:21 Error B010 intermediateCatchEvent `t`: a cycle cannot repeat here, because this event happens once
          help: use timeDuration or timeDate"#]],
    );
    check(
        &timer("<timeDuration>= duration(</timeDuration>"),
        expect![
            "4:74 Error B011 timeDuration of intermediateCatchEvent `t`: `= duration(`: expected a value instead of the end at character 10"
        ],
    );
    check(&timer("<timeDuration meantime:x=\"1\">= delay</timeDuration>"), expect!["deploys main"]);
}

#[test]
fn cycles_only_where_something_can_repeat() {
    let boundary = |interrupting: bool| {
        format!(
            "<startEvent id=\"s\"/><userTask id=\"u\"/><boundaryEvent id=\"b\" attachedToRef=\"u\" \
             cancelActivity=\"{interrupting}\"><timerEventDefinition><timeCycle>R/PT1H</timeCycle>\
             </timerEventDefinition></boundaryEvent>\ns -> u"
        )
    };
    check(
        &boundary(true),
        expect![[r#"
        4:39 Error B010 boundaryEvent `b`: a cycle cannot repeat here, because this event happens once
          help: use timeDuration or timeDate, or make the event non-interrupting"#]],
    );
    check(&boundary(false), expect!["deploys main"]);
    let sub = |interrupting: bool| {
        format!(
            "<startEvent id=\"s\"/><subProcess id=\"e\" triggeredByEvent=\"true\"><startEvent \
             id=\"t\" isInterrupting=\"{interrupting}\"><timerEventDefinition><timeCycle>0 0 * * *\
             </timeCycle></timerEventDefinition></startEvent></subProcess>"
        )
    };
    check(
        &sub(true),
        expect![[r#"
        4:64 Error B010 startEvent `t`: a cycle cannot repeat here, because this event happens once
          help: use timeDuration or timeDate, or make the event non-interrupting"#]],
    );
    check(&sub(false), expect!["deploys main"]);
}

#[test]
fn starts_of_a_process_are_triggers() {
    let text = short::full(
        "<message id=\"m\" name=\"order\"/>\n<signal id=\"g\" name=\"alarm\"/>\n\
         <startEvent id=\"a\"><timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition></startEvent>\
         <startEvent id=\"b\"><timerEventDefinition><timeDate>2026-03-01T10:00:00Z</timeDate></timerEventDefinition></startEvent>\
         <startEvent id=\"c\"><timerEventDefinition><timeCycle>= cycle(3, duration(\"P1D\"))</timeCycle></timerEventDefinition></startEvent>\
         <startEvent id=\"d\"><timerEventDefinition><timeCycle>0 0 9 * * MON</timeCycle></timerEventDefinition></startEvent>\
         <startEvent id=\"e\"><messageEventDefinition messageRef=\"m\"/></startEvent>\
         <startEvent id=\"f\"><signalEventDefinition signalRef=\"g\"/></startEvent>",
    );
    let compiled = compile(&text);
    let triggers: Vec<Trigger> = compiled.definitions[0].triggers.clone();
    let lines: Vec<String> = triggers.iter().map(|it| format!("{it:?}")).collect();
    expect![[r#"
        Timer { element: "a", recurrence: After("PT1H", "UTC") }
        Timer { element: "b", recurrence: At(2026-03-01T10:00:00Z) }
        Timer { element: "c", recurrence: Cycle("R3/P1D", "UTC") }
        Timer { element: "d", recurrence: Cron("0 0 9 * * MON", "UTC") }
        Message { name: "order", element: "e" }
        Signal { name: "alarm", element: "f" }"#]]
    .assert_eq(&lines.join("\n"));
}

/// Such a definition would deploy and never start an instance.
#[test]
fn s11_a_start_below_the_minimum_interval_is_refused() {
    let start = |cycle: &str| {
        format!(
            "<startEvent id=\"a\"><timerEventDefinition><timeCycle>{cycle}</timeCycle>\
             </timerEventDefinition></startEvent>"
        )
    };
    for above in ["R8/PT10S", "R/PT1S", "* * * * * *", "R0/PT10M"] {
        assert_eq!(compile(&short::full(&start(above))).definitions.len(), 1, "{above}");
    }
    check(
        &start("R/PT0.5S"),
        expect![[r#"
        4:1 Error B009 `a`: "R/PT0.5S": the interval PT0.5S is shorter than the shortest allowed, PT1S
          help: start less often, or lower `limits.schedule_interval_ms`"#]],
    );
    let limits = Limits { schedule_interval_ms: 60_000, ..Limits::default() };
    for below in ["R8/PT10S", "*/30 * * * * *", "0,59 * * * * *"] {
        let text = short::full(&start(below)).into();
        let source = Source { name: "test".to_owned(), text, files: Vec::new() };
        assert_eq!(Bpmn.compile(&source, &limits).definitions.len(), 0, "{below}");
    }
}

#[test]
fn the_start_of_a_process_knows_no_variables() {
    check(
        "<startEvent id=\"a\"><timerEventDefinition><timeDuration>= delay</timeDuration></timerEventDefinition></startEvent>\
         <startEvent id=\"b\"><timerEventDefinition><timeDate>= now()</timeDate></timerEventDefinition></startEvent>",
        expect![[r#"
            4:1 Error B011 `a`: `= delay` has no value at the deploy
              help: the start of a process cannot use variables or the time: there are none yet
            4:114 Error B011 `b`: `= now()` has no value at the deploy
              help: the start of a process cannot use variables or the time: there are none yet"#]],
    );
}

#[test]
fn other_engines_code_is_refused_by_name() {
    check(
        r#"<startEvent id="s"/>
<serviceTask id="a" camunda:class="com.example.Pay"/>
<serviceTask id="b" camunda:delegateExpression="${pay}"/>
<serviceTask id="c" camunda:expression="${pay.now()}"/>
<serviceTask id="d" camunda:type="mail"/>
<businessRuleTask id="e" camunda:decisionRef="rates"/>
<businessRuleTask id="f"><extensionElements><zeebe:calledDecision decisionId="rates"/></extensionElements></businessRuleTask>
<userTask id="g"><extensionElements><camunda:taskListener event="create" class="X"/></extensionElements></userTask>
<userTask id="h"><extensionElements><zeebe:executionListeners><zeebe:executionListener/></zeebe:executionListeners></extensionElements></userTask>
<serviceTask id="i" camunda:topic="t"><extensionElements><camunda:connector/></extensionElements></serviceTask>"#,
        expect![[r#"
            5:1 Error B015 serviceTask `a`: camunda:class="com.example.Pay" needs Java code in the engine
              help: make it an external task: camunda:type="external" and a camunda:topic
            5:1 Warning B021 `a`: no flow leads here, so it never runs
              help: connect it, or remove it
            6:1 Error B015 serviceTask `b`: camunda:delegateExpression="${pay}" needs Java code in the engine
              help: make it an external task: camunda:type="external" and a camunda:topic
            6:1 Warning B021 `b`: no flow leads here, so it never runs
              help: connect it, or remove it
            7:1 Error B015 serviceTask `c`: camunda:expression="${pay.now()}" needs Java code in the engine
              help: make it an external task: camunda:type="external" and a camunda:topic
            7:1 Warning B021 `c`: no flow leads here, so it never runs
              help: connect it, or remove it
            8:1 Error B005 serviceTask `d`: camunda:type="mail" is not executed
              help: make it an external task: camunda:type="external" and a camunda:topic
            8:1 Warning B021 `d`: no flow leads here, so it never runs
              help: connect it, or remove it
            9:1 Error B005 businessRuleTask `e`: the decision `rates` is not executed: there is no DMN here
              help: let a worker decide: camunda:type="external" and a camunda:topic
            9:1 Warning B021 `e`: no flow leads here, so it never runs
              help: connect it, or remove it
            10:1 Warning B021 `f`: no flow leads here, so it never runs
              help: connect it, or remove it
            10:45 Error B004 calledDecision of businessRuleTask `f`: zeebe:calledDecision: decisions are not executed: there is no DMN here; name a worker instead
            11:1 Warning B021 `g`: no flow leads here, so it never runs
              help: connect it, or remove it
            11:37 Error B016 taskListener of userTask `g`: camunda:taskListener: listeners are not executed; use a service task or an event
            12:1 Warning B021 `h`: no flow leads here, so it never runs
              help: connect it, or remove it
            12:37 Error B016 executionListeners of userTask `h`: zeebe:executionListeners: listeners are not executed; use a service task or an event
            13:1 Warning B021 `i`: no flow leads here, so it never runs
              help: connect it, or remove it
            13:58 Error B015 connector of serviceTask `i`: camunda:connector: connectors run Java code of another engine"#]],
    );
}

#[test]
fn informative_words_are_accepted_and_useless_ones_noted() {
    check(
        r#"<process id="main" isExecutable="true" camunda:historyTimeToLive="P30D" camunda:versionTag="1.2" camunda:isStartableInTasklist="false">
<documentation>A process.</documentation>
<laneSet id="l"><lane id="l1"><flowNodeRef>s</flowNodeRef></lane></laneSet>
<startEvent id="s"/>
<userTask id="u" camunda:asyncBefore="true" camunda:exclusive="false" camunda:jobPriority="3"><extensionElements><camunda:properties/><zeebe:properties/><zeebe:userTask/></extensionElements></userTask>
<dataObject id="d"/><dataObjectReference id="dr" dataObjectRef="d"/><dataStoreReference id="ds"/>
<textAnnotation id="t"><text>note</text></textAnnotation>
<association id="a" sourceRef="u" targetRef="t"/>
<group id="g"/>
s -> u
</process>"#,
        expect![[r#"
            6:1 Note B022 userTask `u`: camunda:asyncBefore: transaction boundaries are the engine's own business here
            6:1 Note B022 userTask `u`: camunda:exclusive: every step is durable here, so this has no effect
            6:1 Note B022 userTask `u`: camunda:jobPriority: every step is durable here, so this has no effect
            deploys main"#]],
    );
}

#[test]
fn gateways_are_checked() {
    check(
        r#"<startEvent id="s"/>
<parallelGateway id="p" default="p.a"/>
<task id="a"/>
<task id="b"/>
<exclusiveGateway id="x" default="gone"/>
<eventBasedGateway id="e"/>
<eventBasedGateway id="i" instantiate="true"/>
<task id="c"/>
<complexGateway id="k"/>
s -> p -> a
p -> b : = true
a -> x -> c
x -> k
b -> e -> c"#,
        expect![[r#"
            5:1 Error B018 `p`: the flow `p.b` has a condition, but a parallel gateway takes every flow
              help: use an inclusive gateway
            5:1 Error B018 `p`: it has a default flow, but a parallel gateway takes every flow
            8:1 Error B008 exclusiveGateway `x`: the default flow `gone` does not leave it
            8:1 Warning B018 `x`: the flow `x.c` has no condition and is taken whenever it is reached
              help: give it a condition, or make it the default flow
            10:1 Error B005 eventBasedGateway `i`: a gateway that starts instances is not executed
              help: use several message start events
            10:1 Warning B021 `i`: no flow leads here, so it never runs
              help: connect it, or remove it
            10:1 Error B018 `i`: no event follows it
            11:1 Error B018 `c`: what follows an event-based gateway catches a timer, message, signal or condition, or is a plain receive task"#]],
    );
}

#[test]
fn events_are_checked() {
    check(
        r#"<startEvent id="s"><errorEventDefinition/></startEvent>
<startEvent id="s2" isInterrupting="false"/>
<intermediateThrowEvent id="l"><linkEventDefinition name="gone"/></intermediateThrowEvent>
<intermediateCatchEvent id="m"><messageEventDefinition/></intermediateCatchEvent>
<intermediateCatchEvent id="n"><messageEventDefinition messageRef="x"/></intermediateCatchEvent>
<intermediateCatchEvent id="o"/>
<intermediateCatchEvent id="q"><timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition><signalEventDefinition signalRef="g"/></intermediateCatchEvent>
<userTask id="u"/>
<boundaryEvent id="b" attachedToRef="u" cancelActivity="false"><errorEventDefinition/></boundaryEvent>
<boundaryEvent id="c" attachedToRef="u"><cancelEventDefinition/></boundaryEvent>
<boundaryEvent id="d" attachedToRef="u"><compensateEventDefinition/></boundaryEvent>
<endEvent id="e"><errorEventDefinition/></endEvent>
<endEvent id="f"><cancelEventDefinition/></endEvent>
<endEvent id="h"><messageEventDefinition/></endEvent>
<signal id="g" name="g"/>
s2 -> u -> e"#,
        expect![[r#"
            4:1 Error B013 `s`: a process is not started by an error event
              help: use it as the start of an event sub-process
            5:1 Error B013 `s2`: only an event sub-process has a start that does not interrupt
            6:1 Warning B021 `l`: no flow leads here, so it never runs
              help: connect it, or remove it
            6:1 Error B019 `l`: nothing catches the link `gone` in its scope
              help: add an intermediate catch event with the same link name
            7:1 Warning B021 `m`: no flow leads here, so it never runs
              help: connect it, or remove it
            7:32 Error B006 messageEventDefinition of intermediateCatchEvent `m`: the message is missing
              help: choose a message in the modeler (messageRef)
            8:1 Warning B021 `n`: no flow leads here, so it never runs
              help: connect it, or remove it
            8:32 Error B008 messageEventDefinition of intermediateCatchEvent `n`: there is no message `x`
            9:1 Error B006 intermediateCatchEvent `o`: an intermediate catch event needs what it catches
            10:1 Warning B021 `q`: no flow leads here, so it never runs
              help: connect it, or remove it
            10:110 Error B004 signalEventDefinition of intermediateCatchEvent `q`: an event with several definitions is not executed
              help: use one event for each, after an event-based gateway if one of them is enough
            12:1 Error B017 boundaryEvent `b`: an error always interrupts
              help: remove cancelActivity="false"
            13:1 Error B013 `c`: only a transaction can be cancelled
            14:1 Error B020 `d`: no compensation handler is associated with it
              help: draw an association to an activity that is marked as compensation
            15:18 Error B006 errorEventDefinition of endEvent `e`: the error to throw needs a code
              help: choose an error with a code in the modeler (errorRef)
            16:1 Error B013 `f`: a cancel end event is allowed only in a transaction
            17:1 Error B012 endEvent `h`: no worker is named for this
              help: set zeebe:taskDefinition type, camunda:topic or meantime:type"#]],
    );
}

#[test]
fn scopes_are_checked() {
    check(
        r#"<startEvent id="s"/>
<subProcess id="empty"/>
<subProcess id="timed"><startEvent id="t"><timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition></startEvent></subProcess>
<subProcess id="esp" triggeredByEvent="true"><startEvent id="plain"/></subProcess>
<subProcess id="inner"><startEvent id="i"/><task id="x"/></subProcess>
<adHocSubProcess id="hoc"/>
s -> empty -> timed -> inner
s -> x
s -> esp"#,
        expect![[r#"
            4:1 Error B013 `s`: the flow `s.x` crosses the border of a sub-process
            5:1 Warning B021 `empty`: it is empty and completes at once
              help: draw what happens in it, or use a plain task
            6:24 Error B013 `t`: an embedded sub-process is started by its flow, not by an event
              help: use a plain start event, or an event sub-process
            7:1 Error B013 `esp`: an event sub-process has no incoming flow
            7:1 Error B021 `esp`: an event sub-process has exactly one start event, with a trigger
            9:1 Warning B021 `hoc`: no flow leads here, so it never runs
              help: connect it, or remove it
            9:1 Error B021 `hoc`: there is no activity in it"#]],
    );
}

/// A timer of each kind at each element, in the forms that people write.
#[test]
fn timer_definition_parsing_for_duration_date_and_cycle_types() {
    let single = [
        ("timeDuration", "PT5M"),
        ("timeDuration", "P1Y2M3DT4H5M6.5S"),
        ("timeDuration", "P2W"),
        ("timeDate", "2026-03-01T10:00:00Z"),
        ("timeDate", "2026-03-01T10:00:00.123+01:00"),
    ];
    let cycles = [
        "R3/PT10M",
        "R/PT10M",
        "R0/PT10M",
        "R3/2026-03-01T10:00:00Z/PT10M",
        "R3/PT10M/2026-03-02T10:00:00Z",
        "0 9 * * MON-FRI",
        "0 0 9 * * ?",
        "0 0/15 * 1 * ?",
        "@daily",
    ];
    let cycles = cycles.map(|cycle| ("timeCycle", cycle));
    for (kind, time) in single.into_iter().chain(cycles) {
        let timer =
            format!("<timerEventDefinition><{kind}>\n {time}\t</{kind}></timerEventDefinition>");
        let caught = format!(
            "<startEvent id=\"s\"/><intermediateCatchEvent id=\"t\">{timer}\
             </intermediateCatchEvent>\ns -> t"
        );
        let guarding = format!(
            "<startEvent id=\"s\"/><userTask id=\"u\"/><boundaryEvent id=\"t\" attachedToRef=\"u\" \
             cancelActivity=\"false\">{timer}</boundaryEvent>\ns -> u"
        );
        let starting = format!("<startEvent id=\"t\">{timer}</startEvent>");
        let codes = |text: &str| -> Vec<String> {
            compile(&short::full(text)).diagnostics.into_iter().map(|it| it.code).collect()
        };
        let once: &[&str] = if kind == "timeCycle" { &["B010"] } else { &[] };
        assert_eq!(codes(&caught), once, "{time}, caught");
        assert_eq!(codes(&guarding), [""; 0], "{time} at a border");
        assert_eq!(codes(&starting), [""; 0], "{time} as a start");
    }
}

#[test]
fn timer_definition_parsing_duration_date_and_cycle_expressions() {
    for (kind, time) in [
        ("timeDuration", "= duration(\"PT\" + string(minutes) + \"M\")"),
        ("timeDuration", "${delay}"),
        ("timeDuration", "#{order.delay}"),
        ("timeDate", "= now() + duration(\"P1D\")"),
        ("timeDate", "${due}"),
        ("timeCycle", "= cycle(3, duration(\"PT1H\"))"),
        ("timeCycle", "R${count}/PT1H"),
    ] {
        let text = format!(
            "<startEvent id=\"s\"/><userTask id=\"u\"/><boundaryEvent id=\"t\" attachedToRef=\"u\" \
             cancelActivity=\"false\"><timerEventDefinition><{kind}>{time}</{kind}>\
             </timerEventDefinition></boundaryEvent>\ns -> u"
        );
        check(&text, expect!["deploys main"]);
    }
}

#[test]
fn the_language_of_the_file_holds_for_conditions_and_leaves_literals_alone() {
    let text = |language: &str| {
        format!(
            "<definitions xmlns=\"http://www.omg.org/spec/BPMN/20100524/MODEL\" \
             expressionLanguage=\"{language}\"><process id=\"p\" isExecutable=\"true\"><startEvent \
             id=\"s\"/><exclusiveGateway id=\"g\" default=\"d\"/><intermediateCatchEvent id=\"t\">\
             <timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition>\
             </intermediateCatchEvent><endEvent id=\"e\"/><sequenceFlow id=\"a\" sourceRef=\"s\" \
             targetRef=\"g\"/><sequenceFlow id=\"b\" sourceRef=\"g\" targetRef=\"t\">\
             <conditionExpression>amount &gt; 10</conditionExpression></sequenceFlow><sequenceFlow \
             id=\"d\" sourceRef=\"g\" targetRef=\"e\"/></process></definitions>"
        )
    };
    check_whole(&text("http://www.omg.org/spec/FEEL/20140401"), expect!["deploys p"]);
    check_whole(&text("javascript"), expect!["deploys p"]);
    check_whole(
        &text("http://www.w3.org/1999/XPath"),
        expect![[r#"
        1:461 Error B011 conditionExpression of sequenceFlow `b`: `amount > 10` is text, not a condition
          help: begin with = for FEEL, or write ${…}"#]],
    );
}

#[test]
fn empty_conditions_of_modelers_say_nothing() {
    check(
        r#"<startEvent id="s"/>
<exclusiveGateway id="x" default="f2"/>
<endEvent id="a"/>
<endEvent id="b"/>
<adHocSubProcess id="h"><task id="t"/><completionCondition xsi:type="tFormalExpression"/></adHocSubProcess>
s -> h -> x
<sequenceFlow id="f1" sourceRef="x" targetRef="a"><conditionExpression xsi:type="tFormalExpression">= n > 1</conditionExpression></sequenceFlow>
<sequenceFlow id="f2" sourceRef="x" targetRef="b"><conditionExpression xsi:type="tFormalExpression"><![CDATA[]]></conditionExpression></sequenceFlow>"#,
        expect!["deploys main"],
    );
}

#[test]
fn events_of_rule_three_and_what_it_leaves_out() {
    check(
        r#"<startEvent id="c"><conditionalEventDefinition><condition>= x > 1</condition></conditionalEventDefinition></startEvent>
<startEvent id="m"><messageEventDefinition messageRef="news"/><timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition></startEvent>
<startEvent id="p" parallelMultiple="true"><messageEventDefinition messageRef="news"/></startEvent>
<adHocSubProcess id="agent"><extensionElements><zeebe:taskDefinition type="agent"/><zeebe:adHoc outputCollection="results" outputElement="=r"/></extensionElements><task id="t"/></adHocSubProcess>
<subProcess id="undo" triggeredByEvent="true"><startEvent id="u"><compensateEventDefinition/></startEvent></subProcess>
<eventBasedGateway id="g" instantiate="true"/>
<correlationSubscription id="cs"/>
<message id="news" name="news"/>
c -> agent"#,
        expect![[r#"
            5:63 Error B004 timerEventDefinition of startEvent `m`: an event with several definitions is not executed
              help: use one event for each, after an event-based gateway if one of them is enough
            6:1 Error B005 startEvent `p`: an event that waits for several things at once is not executed
            7:48 Error B004 taskDefinition of adHocSubProcess `agent`: a worker cannot choose what runs in an ad-hoc sub-process
              help: list the activities with zeebe:adHoc activeElementsCollection
            7:84 Error B005 adHoc of adHocSubProcess `agent`: `outputCollection` of an ad-hoc sub-process is not executed
            7:84 Error B005 adHoc of adHocSubProcess `agent`: `outputElement` of an ad-hoc sub-process is not executed
            8:1 Error B004 `undo`: a compensation does not start an event sub-process here
            9:1 Error B005 eventBasedGateway `g`: a gateway that starts instances is not executed
              help: use several message start events
            9:1 Warning B021 `g`: no flow leads here, so it never runs
              help: connect it, or remove it
            9:1 Error B018 `g`: no event follows it
            10:1 Error B004 correlationSubscription `cs`: this element is not executed"#]],
    );
}

/// A model with every element but without details: each missing detail is reported by name and
/// line, and nothing else.
#[test]
fn a_drawing_of_everything_is_refused_for_what_is_missing() {
    check_whole(
        include_str!("models/drawn/everything.bpmn"),
        expect![[r#"
            8:66 Error B006 messageEventDefinition of startEvent `start_message`: the message is missing
              help: choose a message in the modeler (messageRef)
            9:62 Error B009 timerEventDefinition of startEvent `start_timer`: the time is missing
              help: set a date, a duration or a cycle in the modeler
            10:74 Error B006 conditionalEventDefinition of startEvent `start_conditional`: the condition is missing
            11:64 Error B006 signalEventDefinition of startEvent `start_signal`: the signal is missing
              help: choose a signal with a name in the modeler (signalRef)
            13:68 Error B006 messageEventDefinition of startEvent `start_multiple`: the message is missing
              help: choose a message in the modeler (messageRef)
            13:102 Error B004 timerEventDefinition of startEvent `start_multiple`: an event with several definitions is not executed
              help: use one event for each, after an event-based gateway if one of them is enough
            14:5 Error B005 startEvent `start_parallel`: an event that waits for several things at once is not executed
            14:92 Error B006 messageEventDefinition of startEvent `start_parallel`: the message is missing
              help: choose a message in the modeler (messageRef)
            14:126 Error B004 timerEventDefinition of startEvent `start_parallel`: an event with several definitions is not executed
              help: use one event for each, after an event-based gateway if one of them is enough
            17:5 Error B012 serviceTask `a_serviceTask`: no worker is named for this
              help: set zeebe:taskDefinition type, camunda:topic or meantime:type
            18:5 Error B012 sendTask `a_sendTask`: no worker is named for this
              help: set zeebe:taskDefinition type, camunda:topic or meantime:type
            19:5 Error B006 receiveTask `a_receiveTask`: the message is missing
              help: choose a message in the modeler (messageRef)
            21:5 Error B012 businessRuleTask `a_businessRuleTask`: no worker is named for this
              help: set zeebe:taskDefinition type, camunda:topic or meantime:type
            22:5 Error B014 scriptTask `a_scriptTask`: the attribute `scriptFormat` is missing
              help: use javascript, flow, dataweave or feel, or a service task
            23:5 Error B006 callActivity `a_callActivity`: what is called is missing
              help: set calledElement, or zeebe:calledElement processId
            24:46 Error B006 standardLoopCharacteristics of task `a_loop`: a loop needs a loopCondition or a loopMaximum, else it never ends
            25:54 Error B006 multiInstanceLoopCharacteristics of task `a_parallel`: how often is missing
              help: set a collection (zeebe:loopCharacteristics inputCollection, camunda:collection) or a loopCardinality
            26:58 Error B006 multiInstanceLoopCharacteristics of task `a_sequential`: how often is missing
              help: set a collection (zeebe:loopCharacteristics inputCollection, camunda:collection) or a loopCardinality
            28:108 Error B006 messageEventDefinition of boundaryEvent `on_message`: the message is missing
              help: choose a message in the modeler (messageRef)
            29:104 Error B009 timerEventDefinition of boundaryEvent `on_timer`: the time is missing
              help: set a date, a duration or a cycle in the modeler
            32:116 Error B006 conditionalEventDefinition of boundaryEvent `on_conditional`: the condition is missing
            33:106 Error B006 signalEventDefinition of boundaryEvent `on_signal`: the signal is missing
              help: choose a signal with a name in the modeler (signalRef)
            35:5 Error B013 `on_cancel`: only a transaction can be cancelled
            36:117 Error B006 messageEventDefinition of boundaryEvent `beside_message`: the message is missing
              help: choose a message in the modeler (messageRef)
            37:113 Error B009 timerEventDefinition of boundaryEvent `beside_timer`: the time is missing
              help: set a date, a duration or a cycle in the modeler
            38:5 Error B013 `beside_escalation`: another event on `a_task` catches every code too
            39:125 Error B006 conditionalEventDefinition of boundaryEvent `beside_conditional`: the condition is missing
            40:115 Error B006 signalEventDefinition of boundaryEvent `beside_signal`: the signal is missing
              help: choose a signal with a name in the modeler (signalRef)
            41:88 Error B006 messageEventDefinition of boundaryEvent `on_multiple`: the message is missing
              help: choose a message in the modeler (messageRef)
            41:122 Error B004 signalEventDefinition of boundaryEvent `on_multiple`: an event with several definitions is not executed
              help: use one event for each, after an event-based gateway if one of them is enough
            43:78 Error B006 messageEventDefinition of intermediateCatchEvent `catch_message`: the message is missing
              help: choose a message in the modeler (messageRef)
            44:74 Error B009 timerEventDefinition of intermediateCatchEvent `catch_timer`: the time is missing
              help: set a date, a duration or a cycle in the modeler
            45:86 Error B006 conditionalEventDefinition of intermediateCatchEvent `catch_conditional`: the condition is missing
            46:76 Error B006 signalEventDefinition of intermediateCatchEvent `catch_signal`: the signal is missing
              help: choose a signal with a name in the modeler (signalRef)
            48:5 Error B012 intermediateThrowEvent `throw_message`: no worker is named for this
              help: set zeebe:taskDefinition type, camunda:topic or meantime:type
            49:84 Error B006 escalationEventDefinition of intermediateThrowEvent `throw_escalation`: the escalation to throw needs a code
              help: choose an escalation with a code in the modeler (escalationRef)
            50:76 Error B006 signalEventDefinition of intermediateThrowEvent `throw_signal`: the signal is missing
              help: choose a signal with a name in the modeler (signalRef)
            51:5 Warning B021 `throw_link`: no flow leads here, so it never runs
              help: connect it, or remove it
            51:5 Error B019 `throw_link`: nothing catches the link `throw_link` in its scope
              help: add an intermediate catch event with the same link name
            57:5 Error B018 `g_complexGateway`: what follows an event-based gateway catches a timer, message, signal or condition, or is a plain receive task
            58:5 Warning B021 `s_plain`: it is empty and completes at once
              help: draw what happens in it, or use a plain task
            59:5 Error B021 `s_event`: an event sub-process has exactly one start event, with a trigger
            60:5 Warning B021 `s_transaction`: it is empty and completes at once
              help: draw what happens in it, or use a plain task
            61:5 Error B021 `s_adhoc`: there is no activity in it
            62:5 Error B012 endEvent `end_message`: no worker is named for this
              help: set zeebe:taskDefinition type, camunda:topic or meantime:type
            63:56 Error B006 errorEventDefinition of endEvent `end_error`: the error to throw needs a code
              help: choose an error with a code in the modeler (errorRef)
            64:66 Error B006 escalationEventDefinition of endEvent `end_escalation`: the escalation to throw needs a code
              help: choose an escalation with a code in the modeler (escalationRef)
            65:58 Error B006 signalEventDefinition of endEvent `end_signal`: the signal is missing
              help: choose a signal with a name in the modeler (signalRef)
            67:5 Error B013 `end_cancel`: a cancel end event is allowed only in a transaction
            69:5 Error B012 endEvent `end_multiple`: no worker is named for this
              help: set zeebe:taskDefinition type, camunda:topic or meantime:type
            69:96 Error B004 signalEventDefinition of endEvent `end_multiple`: an event with several definitions is not executed
              help: use one event for each, after an event-based gateway if one of them is enough"#]],
    );
}

#[test]
fn words_of_modelers_are_read_whatever_they_are() {
    check(
        r#"<process id="main" isExecutable="true" camunda:historyTimeToLive="" camunda:jobPriority="1" camunda:taskPriority="2" camunda:isStartableInTasklist="true">
<startEvent id="s" camunda:formKey="" camunda:formRef="f" camunda:formRefBinding="latest" camunda:initiator="me" camunda:asyncAfter="true"/>
<userTask id="u" camunda:assignee="" camunda:formFieldValidation="true"><extensionElements><zeebe:linkedResources><zeebe:linkedResource resourceId="x"/></zeebe:linkedResources></extensionElements></userTask>
<intermediateCatchEvent id="c"><conditionalEventDefinition camunda:variableName="x"><condition>${x > 1}</condition></conditionalEventDefinition></intermediateCatchEvent>
<intermediateCatchEvent id="d"><conditionalEventDefinition camunda:variableEvents="create"><condition>${x > 1}</condition></conditionalEventDefinition></intermediateCatchEvent>
<callActivity id="a" calledElement="b" camunda:calledElementBinding="deployment" camunda:calledElementTenantId="t"/>
<callActivity id="v" calledElement="b" camunda:calledElementBinding="versionTag" camunda:calledElementVersionTag="1"/>
s -> u -> c -> d -> a -> v
</process>"#,
        expect![[r#"
            2:1 Note B022 process `main`: camunda:jobPriority: every step is durable here, so this has no effect
            3:1 Note B022 startEvent `s`: camunda:initiator: the initiator is not recorded
            3:1 Note B022 startEvent `s`: camunda:asyncAfter: transaction boundaries are the engine's own business here
            4:92 Note B022 linkedResources of userTask `u`: zeebe:linkedResources: linked resources are not handed to the worker
            5:32 Note B022 conditionalEventDefinition of intermediateCatchEvent `c`: camunda:variableName: a condition is looked at whenever a variable changes
            6:32 Error B005 conditionalEventDefinition of intermediateCatchEvent `d`: camunda:variableEvents: this is not executed
            7:1 Note B022 callActivity `a`: calledElementBinding="deployment": the latest version is called
            8:1 Error B005 callActivity `v`: calledElementBinding="versionTag" is not executed
              help: use latest, or version with calledElementVersion"#]],
    );
}

/// Input for which the parser would need minutes or gigabytes is refused before parsing.
#[test]
fn bombs_of_attributes_and_namespaces_are_refused() {
    let many = |prefix: &str| {
        (0..200_000).fold(String::new(), |mut text, number| {
            let _ = write!(text, " {prefix}{number}=\"\"");
            text
        })
    };
    check_whole(
        &format!("<a\n{}/>", many("b")),
        expect!["1:1 Error B002 an element has more than 1000 attributes"],
    );
    let declared = (0..300).fold(String::new(), |mut text, number| {
        let _ = write!(text, "<a xmlns:n{number}='urn:{number}'>");
        text
    });
    check_whole(&declared, expect!["1:5925 Error B002 more than 256 namespaces are declared here"]);
}

/// Every step of reading is linear: a large process on one line.
#[test]
fn a_large_file_of_one_line_is_read() {
    let mut inner = String::from("<startEvent id=\"s\"/>");
    let (mut before, count) = ("s".to_owned(), 20_000);
    for number in 0..count {
        let here = format!("t{number}");
        let _ = write!(
            inner,
            "<task id=\"{here}\"/><sequenceFlow sourceRef=\"{before}\" targetRef=\"{here}\"/>\
             <subProcess id=\"e{number}\"/><task id=\"c{number}\" isForCompensation=\"true\"/>"
        );
        before = here;
    }
    let compiled = compile(&short::full(&inner));
    assert_eq!(compiled.definitions.len(), 1);
    // The first warnings, each with its column on the one line.
    assert_eq!(compiled.diagnostics.len(), 200);
    assert_eq!(compiled.diagnostics[199].start.line, 4);
}

/// Unknown attributes of `zeebe:calledElement` are refused.
#[test]
fn called_elements_say_nothing_that_is_ignored() {
    check(
        r#"<startEvent id="s"/><callActivity id="c"><extensionElements><zeebe:calledElement processId="x" propagateVariables="all" bindingType="newest" versionTag="1"/></extensionElements></callActivity>
        <callActivity id="d"><extensionElements><zeebe:calledElement processId="x" bindingType="versionTag"/></extensionElements></callActivity>
        s -> c -> d"#,
        expect![[r#"
            4:61 Error B005 calledElement of callActivity `c`: zeebe:calledElement: the attribute `propagateVariables` is not executed
              help: it has processId, propagateAllChildVariables, propagateAllParentVariables, bindingType, versionTag
            4:61 Error B005 calledElement of callActivity `c`: bindingType="newest" is not executed
              help: use latest, deployment or versionTag
            5:49 Error B006 calledElement of callActivity `d`: versionTag is missing"#]],
    );
}

/// A call of a function that FEEL does not have is found before any instance runs.
#[test]
fn unknown_functions_are_refused_at_the_deploy() {
    check(
        r#"<startEvent id="s"/><exclusiveGateway id="g" default="g.e"/><endEvent id="e"/>
        s -> g
        g -> e : = totl(list) > 1"#,
        expect![[r#"
            6:52 Error B011 conditionExpression of sequenceFlow `g.e`: `= totl(list) > 1`: there is no function `totl` at character 1
              help: the functions are listed in docs/reference/feel.md"#]],
    );
}
