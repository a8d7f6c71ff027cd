//! The root element: what all processes share, and which of them are executable.

use std::collections::BTreeMap;

use meantime_core::Limits;

use super::builder::Builder;
use super::tree::{
    Vendor, XmlElement, attribute, children, extension, is_bpmn, name, vendor_attribute,
};
use super::xml::{self, SourceText};
use crate::expression::Language;
use crate::model::Process;
use crate::problem::{Code, Problems};

/// A process, and the attributes of its definition that execution does not need.
#[derive(Debug)]
pub(crate) struct ReadProcess {
    pub(crate) process: Process,
    /// The author's version label.
    pub(crate) label: Option<String>,
    /// The execution deadline, as an ISO duration.
    pub(crate) deadline: Option<String>,
    /// The time zone of calendar durations and cron.
    pub(crate) zone: meantime_core::time::Zone,
}

/// Messages, signals, errors and escalations, by their ids.
#[derive(Debug, Default)]
pub(super) struct RootElements<'a> {
    pub(super) elements: BTreeMap<&'a str, XmlElement<'a>>,
    /// `expressionLanguage` of the file, if it is supported; other values are modelers' defaults.
    pub(super) language: Option<&'a str>,
}

/// Reads every executable process of a text.
pub(crate) fn read(text: &str, limits: &Limits, problems: &mut Problems) -> Vec<ReadProcess> {
    let Some(document) = xml::parse(text, limits, problems) else { return Vec::new() };
    let source = SourceText::new(text);
    let root = document.root_element();
    if !is_bpmn(root, "definitions") {
        let found = name(root);
        let of = root.tag_name().namespace().map_or_else(String::new, |it| format!(" of {it}"));
        let message =
            format!("the outermost element is `{found}`{of}, not `definitions` of BPMN 2.0");
        let help = "save the model as BPMN 2.0 XML (http://www.omg.org/spec/BPMN/20100524/MODEL)";
        problems.error_with_help(Code::NotBpmn, source.position(root.range().start), message, help);
        return Vec::new();
    }
    check_root(root, &source, problems);
    let globals = RootElements {
        elements: children(root).filter_map(|it| Some((attribute(it, "id")?, it))).collect(),
        language: attribute(root, "expressionLanguage")
            .filter(|it| Language::from_name(it).is_some()),
    };
    let executable: Vec<XmlElement<'_>> = children(root).filter(|it| is_executable(*it)).collect();
    if executable.is_empty() {
        let any = children(root).find(|it| name(*it) == "process").unwrap_or(root);
        let message = "no process is marked as executable";
        let help = "tick Executable in the modeler, or write isExecutable=\"true\" on the process";
        let at = source.position(any.range().start);
        problems.error_with_help(Code::NoExecutableProcess, at, message, help);
    }
    executable.into_iter().filter_map(|it| read_process(it, &globals, &source, problems)).collect()
}

fn is_executable(element: XmlElement<'_>) -> bool {
    name(element) == "process" && matches!(attribute(element, "isExecutable"), Some("true" | "1"))
}

/// Elements beside the processes: diagrams are ignored, unsupported elements rejected.
fn check_root(root: XmlElement<'_>, source: &SourceText<'_>, problems: &mut Problems) {
    for element in children(root) {
        let at = source.position(element.range().start);
        match name(element) {
            "extension" if attribute(element, "mustUnderstand") == Some("true") => {
                let message = "extension: an extension that must be understood is not";
                problems.error(Code::UnsupportedElement, at, message);
            }
            "import" if attribute(element, "importType").is_some_and(|it| it.contains("BPMN")) => {
                let message = "import: other BPMN files are not read; deploy them by themselves, \
                               and their processes are called by id";
                problems.note(Code::Ignored, at, message);
            }
            _ => {}
        }
    }
}

fn read_process<'a>(
    element: XmlElement<'a>,
    globals: &'a RootElements<'a>,
    source: &'a SourceText<'a>,
    problems: &'a mut Problems,
) -> Option<ReadProcess> {
    let errors = problems.errors();
    let mut builder = Builder::new(element, globals, source, problems);
    builder.check_attributes_and_extensions(element);
    let id = builder.required(element, "id")?;
    let deadline = builder.delay_attribute(element, "deadline");
    builder.read_container(element, None);
    let tag = extension(element, Vendor::Zeebe, "versionTag");
    let label = vendor_attribute(element, Vendor::Camunda, "versionTag")
        .or_else(|| tag.and_then(|tag| attribute(tag, "value")))
        .map(str::to_owned);
    let (process, zone) = builder.finish(id);
    crate::check::check(&process, problems);
    (problems.errors() == errors).then_some(ReadProcess { process, label, deadline, zone })
}

impl RootElements<'_> {
    /// A root element of a certain kind.
    pub(super) fn get(&self, id: &str, kind: &str) -> Option<XmlElement<'_>> {
        self.elements.get(id).copied().filter(|it| name(*it) == kind)
    }
}
