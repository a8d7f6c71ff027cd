//! What is accepted, and how the rest is refused: by name, with line and help, all at once.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use expect_test::{Expect, expect};
use meantime_bpmn::Bpmn;
use meantime_core::{Compiled, Limits, Notation, Source, Trigger};

#[path = "support/short.rs"]
mod short;

fn compile(text: &str) -> Compiled {
    let source = Source { name: "test".to_owned(), text: text.into(), files: Vec::new() };
    Bpmn.compile(&source, &Limits::default())
}

/// Checks the diagnostics of a model written short.
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
    check_whole(&many, expect!["1:1 Error B002 the file has more than 500000 elements"]);
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
            9:57 Error B009 timeDuration of intermediateCatchEvent `wait`: `5 minutes`: invalid duration: expected `P` at offset 0
              help: write for example `PT10M`, `P1D` or `P1Y2M3DT4H5M6.5S`
            10:1 Error B008 sequenceFlow `start.nowhere`: targetRef: there is no flow node `nowhere` in this process
            11:1 Error B008 boundaryEvent `b`: attachedToRef: there is no activity `gone` beside it"#]],
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
        Timer { place: "a", recurrence: After("PT1H", "UTC") }
        Timer { place: "b", recurrence: At(2026-03-01T10:00:00Z) }
        Timer { place: "c", recurrence: Cycle("R3/P1D", "UTC") }
        Timer { place: "d", recurrence: Cron("0 0 9 * * MON", "UTC") }
        Message { name: "order", place: "e" }
        Signal { name: "alarm", place: "f" }"#]]
    .assert_eq(&lines.join("\n"));
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
            10:1 Error B012 businessRuleTask `f`: no worker is named for this
              help: set zeebe:taskDefinition type, camunda:topic or meantime:type
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
            7:32 Error B006 messageEventDefinition of intermediateCatchEvent `m`: the message is missing
              help: choose a message in the modeler (messageRef)
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
            16:1 Error B013 `f`: a cancel end event stands in a transaction
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
