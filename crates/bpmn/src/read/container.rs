//! The elements of a process or sub-process. Dispatch only: each kind has its own file.

use super::builder::Builder;
use super::tree::{XmlElement, attribute, children, name};
use crate::model::NodeRef;
use crate::problem::Code;

impl<'a> Builder<'a> {
    pub(super) fn read_container(&mut self, container: XmlElement<'a>, parent: Option<NodeRef>) {
        for element in children(container) {
            let errors = self.problems.errors();
            self.read_element(element, parent);
            if self.problems.errors() > errors {
                self.refused.extend(attribute(element, "id"));
            }
        }
    }

    fn read_element(&mut self, element: XmlElement<'a>, parent: Option<NodeRef>) {
        match name(element) {
            "startEvent" => self.read_start(element, parent),
            "endEvent" => self.read_end(element, parent),
            "intermediateCatchEvent" => self.read_catch(element, parent),
            "intermediateThrowEvent" => self.read_throw(element, parent),
            "boundaryEvent" => self.read_boundary(element, parent),
            "task" | "manualTask" | "serviceTask" | "sendTask" | "businessRuleTask"
            | "userTask" | "receiveTask" | "scriptTask" => self.read_task(element, parent),
            "exclusiveGateway" | "parallelGateway" | "inclusiveGateway" | "eventBasedGateway"
            | "complexGateway" => self.read_gateway(element, parent),
            "subProcess" | "transaction" | "adHocSubProcess" => {
                self.read_sub_process(element, parent);
            }
            "callActivity" => self.read_call(element, parent),
            "sequenceFlow" => self.flow_elements.push(element),
            "association" => self.associations.push(element),
            "dataInputAssociation" | "dataOutputAssociation" => self.check_data(element),
            "extensionElements"
            | "documentation"
            | "auditing"
            | "monitoring"
            | "laneSet"
            | "incoming"
            | "outgoing"
            | "textAnnotation"
            | "group"
            | "dataObject"
            | "dataObjectReference"
            | "dataStoreReference"
            | "ioSpecification"
            | "ioBinding"
            | "property"
            | "supports"
            | "artifact"
            | "resourceRole"
            | "performer"
            | "humanPerformer"
            | "potentialOwner"
            | "category"
            // Read by the container's own reader.
            | "multiInstanceLoopCharacteristics"
            | "standardLoopCharacteristics"
            | "completionCondition" => {}
            _ => self.error(Code::UnsupportedElement, element, "this element is not executed"),
        }
    }

    /// Data objects and plain associations are accepted as documentation; an assignment or
    /// transformation is rejected, because it would have to be executed.
    pub(super) fn check_data(&mut self, element: XmlElement<'a>) {
        let moves =
            children(element).find(|it| matches!(name(*it), "assignment" | "transformation"));
        if let Some(part) = moves {
            let help = "map variables with zeebe:ioMapping or camunda:inputOutput instead";
            let what = "data associations do not move data";
            self.error_with_help(Code::UnsupportedElement, part, what, help);
        }
    }
}
