//! Which words may be written where, and what becomes of them. Tables only.

use super::tree::Vendor;
use crate::problem::Code;

/// What becomes of a vendor's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Treatment {
    /// Read by the element's own reader.
    Honoured,
    /// For people and tools.
    Informative,
    /// Accepted, and people should know that it does nothing.
    Noted(&'static str),
    /// Would have to be executed, and is not.
    Refused(Code, &'static str),
}

use Treatment::{Honoured, Informative, Noted, Refused};

const TRANSACTION: &str = "transaction boundaries are the engine's own business here";
const DURABLE: &str = "every step is durable here, so this has no effect";
const LISTENER: &str = "listeners are not executed; use a service task or an event";
const NOT_HERE: &str = "this is not executed";

/// Attributes without a prefix that an element may have, besides `id` and `name`.
pub(super) fn attributes(element: &str) -> &'static [&'static str] {
    match element {
        "process" => &["isExecutable", "processType", "isClosed", "definitionalCollaborationRef"],
        "startEvent" => &["isInterrupting", "parallelMultiple"],
        "intermediateCatchEvent" => &["parallelMultiple"],
        "boundaryEvent" => &["attachedToRef", "cancelActivity", "parallelMultiple"],
        "task" | "manualTask" | "callActivity" | "subProcess" | "transaction"
        | "adHocSubProcess" | "serviceTask" | "sendTask" | "businessRuleTask" | "userTask"
        | "receiveTask" | "scriptTask" => &[
            "default",
            "isForCompensation",
            "startQuantity",
            "completionQuantity",
            "implementation",
            "operationRef",
            "messageRef",
            "instantiate",
            "scriptFormat",
            "calledElement",
            "triggeredByEvent",
            "method",
            "ordering",
            "cancelRemainingInstances",
        ],
        "exclusiveGateway" | "parallelGateway" | "inclusiveGateway" | "complexGateway" => {
            &["default", "gatewayDirection"]
        }
        "eventBasedGateway" => &["gatewayDirection", "instantiate", "eventGatewayType"],
        "sequenceFlow" => &["sourceRef", "targetRef", "isImmediate"],
        "standardLoopCharacteristics" => &["testBefore", "loopMaximum"],
        "multiInstanceLoopCharacteristics" => {
            &["isSequential", "behavior", "oneBehaviorEventRef", "noneBehaviorEventRef"]
        }
        _ => &[],
    }
}

/// Elements that any flow node may contain and that need no reading.
pub(super) const INNER: [&str; 17] = [
    "incoming",
    "outgoing",
    "extensionElements",
    "documentation",
    "auditing",
    "monitoring",
    "ioSpecification",
    "property",
    "resourceRole",
    "performer",
    "humanPerformer",
    "potentialOwner",
    "categoryValueRef",
    "multiInstanceLoopCharacteristics",
    "standardLoopCharacteristics",
    "dataInputAssociation",
    "dataOutputAssociation",
];

/// Attributes with a vendor's prefix.
pub(super) fn attribute(vendor: Vendor, name: &str) -> Treatment {
    match vendor {
        Vendor::Camunda => camunda_attribute(name),
        Vendor::Zeebe => match name {
            name if name.starts_with("modelerTemplate") => Informative,
            _ => Refused(Code::UnsupportedAttribute, NOT_HERE),
        },
        Vendor::Meantime => match name {
            "type" | "zone" | "deadline" | "version" | "correlationKey" | "resultVariable"
            | "assignee" | "candidateGroups" | "candidateUsers" | "dueDate" | "followUpDate"
            | "priority" | "formKey" | "formRef" | "activeElements" => Honoured,
            _ => Refused(Code::UnsupportedAttribute, "there is no such attribute"),
        },
        Vendor::Bpmn | Vendor::Other => Informative,
    }
}

fn camunda_attribute(name: &str) -> Treatment {
    match name {
        "topic"
        | "type"
        | "taskPriority"
        | "assignee"
        | "candidateUsers"
        | "candidateGroups"
        | "dueDate"
        | "followUpDate"
        | "formKey"
        | "formRef"
        | "priority"
        | "collection"
        | "elementVariable"
        | "resultVariable"
        | "calledElementBinding"
        | "calledElementVersion"
        | "errorCodeVariable"
        | "errorMessageVariable"
        | "escalationCodeVariable"
        | "versionTag"
        | "class"
        | "delegateExpression"
        | "expression"
        | "decisionRef"
        | "resource" => Honoured,
        "asyncBefore" | "asyncAfter" | "async" => Noted(TRANSACTION),
        "exclusive" | "jobPriority" => Noted(DURABLE),
        "historyTimeToLive"
        | "isStartableInTasklist"
        | "candidateStarterGroups"
        | "candidateStarterUsers"
        | "formRefBinding"
        | "formRefVersion"
        | "diagramRelationId"
        | "formHandlerClass"
        | "decisionRefBinding"
        | "mapDecisionResult"
        | "calledElementTenantId"
        | "calledElementVersionTag"
        | "formFieldValidation"
        | "autoStoreVariables"
        | "calledElementType"
        | "fallbackToDefaultTenant"
        | "sameDeployment" => Informative,
        "variableName" => Noted("a condition is looked at whenever a variable changes"),
        "initiator" => Noted("nobody is recorded as the initiator"),
        name if name.starts_with("modelerTemplate") => Informative,
        _ => Refused(Code::UnsupportedAttribute, NOT_HERE),
    }
}

/// Elements in `extensionElements`.
pub(super) fn element(vendor: Vendor, name: &str) -> Treatment {
    match (vendor, name) {
        (Vendor::Camunda, name) => camunda_element(name),
        (Vendor::Zeebe, name) => zeebe_element(name),
        (Vendor::Meantime, _) => Refused(Code::UnsupportedElement, "there is no such element"),
        (Vendor::Bpmn | Vendor::Other, _) => Informative,
    }
}

fn camunda_element(name: &str) -> Treatment {
    match name {
        "inputOutput" | "in" | "out" | "failedJobRetryTimeCycle" => Honoured,
        "properties" | "formData" | "formProperty" | "potentialStarter" => Informative,
        "executionListener" | "taskListener" => Refused(Code::Listener, LISTENER),
        "connector" => Refused(Code::Java, "connectors run Java code of another engine"),
        "field" => Refused(Code::Java, "injected fields need a Java class"),
        _ => Refused(Code::UnsupportedElement, NOT_HERE),
    }
}

fn zeebe_element(name: &str) -> Treatment {
    match name {
        "taskDefinition"
        | "taskHeaders"
        | "ioMapping"
        | "loopCharacteristics"
        | "subscription"
        | "calledElement"
        | "assignmentDefinition"
        | "formDefinition"
        | "taskSchedule"
        | "script"
        | "versionTag"
        | "priorityDefinition"
        | "adHoc" => Honoured,
        "properties" | "userTask" | "userTaskForm" | "bindingType" => Informative,
        "linkedResources" => Noted("linked resources are not handed to the worker"),
        "executionListeners" | "taskListeners" => Refused(Code::Listener, LISTENER),
        "calledDecision" => Refused(
            Code::UnsupportedElement,
            "decisions are not executed: there is no DMN here; name a worker instead",
        ),
        _ => Refused(Code::UnsupportedElement, NOT_HERE),
    }
}
