//! Embedded, event, transaction and ad-hoc sub-processes.

use super::builder::Builder;
use super::tree::{El, Vendor, attribute, child, extension, name, vendor_attribute};
use crate::model::{AdHoc, Body, Kind, NodeRef, Sub, SubKind};
use crate::problem::Code;

impl<'a> Builder<'a> {
    pub(super) fn read_sub(&mut self, element: El<'a>, parent: Option<NodeRef>) {
        self.check_words(element);
        let event = self.flag(element, "triggeredByEvent", false);
        let kind = match name(element) {
            "transaction" => SubKind::Transaction,
            "adHocSubProcess" => SubKind::AdHoc(self.ad_hoc(element)),
            _ if event => SubKind::Event,
            _ => SubKind::Embedded,
        };
        if event && name(element) != "subProcess" {
            let what = "only a plain sub-process can be triggered by an event";
            self.error(Code::UnsupportedAttribute, element, what);
        }
        let is_event = matches!(kind, SubKind::Event);
        let sub = Sub { kind, body: Body::default() };
        let at = self.add_activity(element, Kind::Sub(sub), parent);
        if is_event {
            self.body_mut(parent).event_subs.push(at);
        }
        self.read_container(element, Some(at));
    }

    fn ad_hoc(&mut self, element: El<'a>) -> AdHoc {
        let sequential = attribute(element, "ordering") == Some("Sequential");
        let cancel_remaining = self.flag(element, "cancelRemainingInstances", true);
        let completion = child(element, "completionCondition").map(|it| self.condition(it));
        let zeebe = extension(element, Vendor::Zeebe, "adHoc");
        let active = zeebe
            .and_then(|it| attribute(it, "activeElementsCollection"))
            .or_else(|| vendor_attribute(element, Vendor::Meantime, "activeElements"));
        let active = active.map(str::to_owned).map(|it| self.expression(element, &it));
        AdHoc { sequential, completion, cancel_remaining, active }
    }
}
