//! Embedded, event, transaction and ad-hoc sub-processes.

use super::builder::Builder;
use super::tree::{Vendor, XmlElement, attribute, extension, name, vendor_attribute};
use crate::model::{AdHoc, NodeKind, NodeRef, ScopeBody, SubProcess, SubProcessKind};
use crate::problem::Code;

impl<'a> Builder<'a> {
    pub(super) fn read_sub_process(&mut self, element: XmlElement<'a>, parent: Option<NodeRef>) {
        self.check_attributes_and_extensions(element);
        let event = self.flag(element, "triggeredByEvent", false);
        let kind = match name(element) {
            "transaction" => SubProcessKind::Transaction,
            "adHocSubProcess" => SubProcessKind::AdHoc(self.ad_hoc(element)),
            _ if event => SubProcessKind::Event,
            _ => SubProcessKind::Embedded,
        };
        if event && name(element) != "subProcess" {
            let what = "only a plain sub-process can be triggered by an event";
            self.error(Code::UnsupportedAttribute, element, what);
        }
        let is_event = matches!(kind, SubProcessKind::Event);
        let sub = SubProcess { kind, body: ScopeBody::default() };
        let at = self.add_activity(element, NodeKind::SubProcess(sub), parent);
        if is_event {
            self.body_mut(parent).event_sub_processes.push(at);
        }
        self.read_container(element, Some(at));
    }

    fn ad_hoc(&mut self, element: XmlElement<'a>) -> AdHoc {
        let sequential = attribute(element, "ordering") == Some("Sequential");
        let cancel_remaining = self.flag(element, "cancelRemainingInstances", true);
        let completion = self.condition_in(element, "completionCondition");
        let zeebe = extension(element, Vendor::Zeebe, "adHoc");
        self.refuse_ad_hoc_work(element, zeebe);
        let active = zeebe
            .and_then(|it| attribute(it, "activeElementsCollection"))
            .or_else(|| vendor_attribute(element, Vendor::Meantime, "activeElements"));
        let active = active.map(str::to_owned).map(|it| self.expression(element, &it));
        AdHoc { sequential, completion, cancel_remaining, active }
    }

    /// Rejects ad-hoc sub-processes whose activities a worker chooses, and their output
    /// collections.
    fn refuse_ad_hoc_work(&mut self, element: XmlElement<'a>, zeebe: Option<XmlElement<'a>>) {
        if let Some(work) = extension(element, Vendor::Zeebe, "taskDefinition") {
            let what = "a worker cannot choose what runs in an ad-hoc sub-process";
            let help = "list the activities with zeebe:adHoc activeElementsCollection";
            self.error_with_help(Code::UnsupportedElement, work, what, help);
        }
        for wanted in ["outputCollection", "outputElement"] {
            if let Some(zeebe) = zeebe.filter(|it| attribute(*it, wanted).is_some()) {
                let what = format!("`{wanted}` of an ad-hoc sub-process is not executed");
                self.error(Code::UnsupportedAttribute, zeebe, &what);
            }
        }
    }
}
