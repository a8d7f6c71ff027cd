//! Gateways.

use super::builder::Builder;
use super::tree::{XmlElement, attribute, name};
use crate::model::{Gateway, NodeKind, NodeRef};
use crate::problem::Code;

impl<'a> Builder<'a> {
    pub(super) fn read_gateway(&mut self, element: XmlElement<'a>, parent: Option<NodeRef>) {
        self.check_attributes_and_extensions(element);
        self.check_children(element, &["activationCondition"]);
        let gateway = match name(element) {
            "exclusiveGateway" => Gateway::Exclusive,
            "parallelGateway" => Gateway::Parallel,
            "inclusiveGateway" => Gateway::Inclusive,
            "eventBasedGateway" => self.event_based(element),
            _ => self.complex(element),
        };
        self.add(element, NodeKind::Gateway(gateway), parent);
    }

    fn event_based(&mut self, element: XmlElement<'a>) -> Gateway {
        if self.flag(element, "instantiate", false) {
            let what = "a gateway that starts instances is not executed";
            self.error_with_help(
                Code::UnsupportedAttribute,
                element,
                what,
                "use several message start events",
            );
        }
        if attribute(element, "eventGatewayType").is_some_and(|it| it != "Exclusive") {
            let what = "eventGatewayType=\"Parallel\" is not executed";
            self.error(Code::UnsupportedAttribute, element, what);
        }
        Gateway::EventBased
    }

    fn complex(&mut self, element: XmlElement<'a>) -> Gateway {
        Gateway::Complex { activation: self.condition_in(element, "activationCondition") }
    }
}
