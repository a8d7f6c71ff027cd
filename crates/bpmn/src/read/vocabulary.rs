//! Which attributes and extension elements are supported, ignored or rejected. Tables only.

use super::tree::Vendor;
use crate::problem::Code;

/// How an attribute or extension element of a vendor is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExtensionSupport {
    /// Read by the element's own reader.
    Supported,
    /// For people and tools; without effect.
    Ignored,
    /// Accepted with a warning that it has no effect.
    IgnoredWithNote(&'static str),
    /// Would have to be executed and is not supported.
    Rejected(Code, &'static str),
}

use ExtensionSupport::{Ignored, IgnoredWithNote, Rejected, Supported};

const NOTE_TRANSACTION: &str = "transaction boundaries are the engine's own business here";
const NOTE_DURABLE: &str = "every step is durable here, so this has no effect";
const HELP_LISTENER: &str = "listeners are not executed; use a service task or an event";
const HELP_NOT_EXECUTED: &str = "this is not executed";

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
pub(super) const COMMON_CHILDREN: [&str; 17] = [
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
pub(super) fn attribute(vendor: Vendor, name: &str) -> ExtensionSupport {
    match vendor {
        Vendor::Camunda => camunda_attribute(name),
        Vendor::Zeebe => match name {
            name if name.starts_with("modelerTemplate") => Ignored,
            _ => Rejected(Code::UnsupportedAttribute, HELP_NOT_EXECUTED),
        },
        Vendor::Meantime => match name {
            "type" | "zone" | "deadline" | "version" | "correlationKey" | "resultVariable"
            | "assignee" | "candidateGroups" | "candidateUsers" | "dueDate" | "followUpDate"
            | "priority" | "formKey" | "formRef" | "activeElements" => Supported,
            _ => Rejected(Code::UnsupportedAttribute, "there is no such attribute"),
        },
        Vendor::Bpmn | Vendor::Other => Ignored,
    }
}

fn camunda_attribute(name: &str) -> ExtensionSupport {
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
        | "resource" => Supported,
        "asyncBefore" | "asyncAfter" | "async" => IgnoredWithNote(NOTE_TRANSACTION),
        "exclusive" | "jobPriority" => IgnoredWithNote(NOTE_DURABLE),
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
        | "sameDeployment" => Ignored,
        "variableName" => IgnoredWithNote("a condition is looked at whenever a variable changes"),
        "initiator" => IgnoredWithNote("the initiator is not recorded"),
        name if name.starts_with("modelerTemplate") => Ignored,
        _ => Rejected(Code::UnsupportedAttribute, HELP_NOT_EXECUTED),
    }
}

/// Elements in `extensionElements`.
pub(super) fn element(vendor: Vendor, name: &str) -> ExtensionSupport {
    match (vendor, name) {
        (Vendor::Camunda, name) => camunda_element(name),
        (Vendor::Zeebe, name) => zeebe_element(name),
        (Vendor::Meantime, _) => Rejected(Code::UnsupportedElement, "there is no such element"),
        (Vendor::Bpmn | Vendor::Other, _) => Ignored,
    }
}

fn camunda_element(name: &str) -> ExtensionSupport {
    match name {
        "inputOutput" | "in" | "out" | "failedJobRetryTimeCycle" => Supported,
        "properties" | "formData" | "formProperty" | "potentialStarter" => Ignored,
        "executionListener" | "taskListener" => Rejected(Code::Listener, HELP_LISTENER),
        "connector" => Rejected(Code::Java, "connectors run Java code of another engine"),
        "field" => Rejected(Code::Java, "injected fields need a Java class"),
        _ => Rejected(Code::UnsupportedElement, HELP_NOT_EXECUTED),
    }
}

fn zeebe_element(name: &str) -> ExtensionSupport {
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
        | "adHoc" => Supported,
        "properties" | "userTask" | "userTaskForm" | "bindingType" => Ignored,
        "linkedResources" => IgnoredWithNote("linked resources are not handed to the worker"),
        "executionListeners" | "taskListeners" => Rejected(Code::Listener, HELP_LISTENER),
        "calledDecision" => Rejected(
            Code::UnsupportedElement,
            "decisions are not executed: there is no DMN here; name a worker instead",
        ),
        _ => Rejected(Code::UnsupportedElement, HELP_NOT_EXECUTED),
    }
}
