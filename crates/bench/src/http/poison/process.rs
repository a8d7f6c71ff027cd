//! BPMN processes around an expression or a script.

use super::journey::sleeping;
use super::seeded_choice::SeededChoice;

pub(super) const MEDIA_TYPE: &str = "application/xml";

/// A process that evaluates a FEEL expression, in a script task or at a gateway.
pub(super) fn evaluating(
    choice: &mut SeededChoice,
    name: &str,
    feel: &str,
) -> (String, &'static str) {
    let feel = escaped(feel);
    if choice.between(0, 3) == 0 {
        let gateway = format!(
            "<bpmn:exclusiveGateway id=\"work\" default=\"other\"/>\
             <bpmn:sequenceFlow id=\"other\" sourceRef=\"work\" targetRef=\"end\"/>\
             <bpmn:endEvent id=\"end\"/>\
             <bpmn:sequenceFlow id=\"out\" sourceRef=\"work\" targetRef=\"done\">\
             <bpmn:conditionExpression>=string({feel}) = \"\"</bpmn:conditionExpression>\
             </bpmn:sequenceFlow>"
        );
        return around(choice, name, &gateway);
    }
    let script = format!(
        "<bpmn:scriptTask id=\"work\"><bpmn:extensionElements>\
         <zeebe:script expression=\"={feel}\" resultVariable=\"result\"/>\
         </bpmn:extensionElements></bpmn:scriptTask>{AFTER_WORK}"
    );
    around(choice, name, &script)
}

/// A process with a script in the language of flows.
pub(super) fn scripted(
    choice: &mut SeededChoice,
    name: &str,
    script: &str,
) -> (String, &'static str) {
    let script = escaped(script);
    let task = format!(
        "<bpmn:scriptTask id=\"work\" scriptFormat=\"javascript\">\
         <bpmn:script>{script}</bpmn:script></bpmn:scriptTask>{AFTER_WORK}"
    );
    around(choice, name, &task)
}

/// A process that calls itself several times at once.
pub(super) fn calling_itself(
    choice: &mut SeededChoice,
    name: &str,
    times: usize,
) -> (String, &'static str) {
    let call = format!(
        "<bpmn:callActivity id=\"work\" calledElement=\"{name}\">\
         <bpmn:multiInstanceLoopCharacteristics>\
         <bpmn:loopCardinality>{times}</bpmn:loopCardinality>\
         </bpmn:multiInstanceLoopCharacteristics></bpmn:callActivity>{AFTER_WORK}"
    );
    around(choice, name, &call)
}

const AFTER_WORK: &str = "<bpmn:sequenceFlow id=\"out\" sourceRef=\"work\" targetRef=\"done\"/>";

/// A process with a start event, an optional sleep, `work` and an end event.
fn around(choice: &mut SeededChoice, name: &str, work: &str) -> (String, &'static str) {
    let (sleeps, words) = sleeping(choice);
    let begin = if sleeps {
        "<bpmn:sequenceFlow id=\"in\" sourceRef=\"start\" targetRef=\"nap\"/>\
         <bpmn:intermediateCatchEvent id=\"nap\"><bpmn:timerEventDefinition>\
         <bpmn:timeDuration>PT1S</bpmn:timeDuration></bpmn:timerEventDefinition>\
         </bpmn:intermediateCatchEvent>\
         <bpmn:sequenceFlow id=\"on\" sourceRef=\"nap\" targetRef=\"work\"/>"
    } else {
        "<bpmn:sequenceFlow id=\"in\" sourceRef=\"start\" targetRef=\"work\"/>"
    };
    let text = format!(
        "<bpmn:definitions xmlns:bpmn=\"http://www.omg.org/spec/BPMN/20100524/MODEL\" \
         xmlns:zeebe=\"http://camunda.org/schema/zeebe/1.0\" targetNamespace=\"bench\">\
         <bpmn:process id=\"{name}\" isExecutable=\"true\"><bpmn:startEvent id=\"start\"/>\
         {begin}{work}<bpmn:endEvent id=\"done\"/></bpmn:process></bpmn:definitions>"
    );
    (text, words)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
