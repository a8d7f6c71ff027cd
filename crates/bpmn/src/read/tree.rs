//! The XML tree as the readers see it: names by their vendor, not by their prefix.

use roxmltree::Node;

/// An element.
pub(super) type XmlElement<'a> = Node<'a, 'a>;

/// The vendor whose namespace a name belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Vendor {
    /// BPMN itself, and attributes without a prefix.
    Bpmn,
    /// Camunda 7, and Activiti and Flowable, which use its names.
    Camunda,
    /// Camunda 8.
    Zeebe,
    /// The namespace of this engine.
    Meantime,
    /// Any other namespace: diagrams, modelers, annotations.
    Other,
}

const BPMN_NAMESPACE: &str = "http://www.omg.org/spec/BPMN/20100524/MODEL";
const ZEEBE_NAMESPACE: &str = "http://camunda.org/schema/zeebe/1.0";
const CAMUNDA_NAMESPACES: [&str; 3] =
    ["http://camunda.org/schema/1.0/bpmn", "http://activiti.org/bpmn", "http://flowable.org/bpmn"];

impl Vendor {
    fn of(uri: Option<&str>) -> Self {
        match uri {
            Some(BPMN_NAMESPACE) => Self::Bpmn,
            Some(ZEEBE_NAMESPACE) => Self::Zeebe,
            Some(uri) if CAMUNDA_NAMESPACES.contains(&uri) => Self::Camunda,
            Some(uri) if uri.contains("meantime") => Self::Meantime,
            _ => Self::Other,
        }
    }

    /// The usual prefix of the namespace.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Self::Bpmn => "bpmn",
            Self::Camunda => "camunda",
            Self::Zeebe => "zeebe",
            Self::Meantime => "meantime",
            Self::Other => "other",
        }
    }
}

pub(super) fn vendor(element: XmlElement<'_>) -> Vendor {
    Vendor::of(element.tag_name().namespace())
}

pub(super) fn name(element: XmlElement<'_>) -> &str {
    element.tag_name().name()
}

pub(super) fn is_bpmn(element: XmlElement<'_>, wanted: &str) -> bool {
    vendor(element) == Vendor::Bpmn && name(element) == wanted
}

/// The child elements of BPMN.
pub(super) fn children(element: XmlElement<'_>) -> impl Iterator<Item = XmlElement<'_>> {
    element.children().filter(|child| child.is_element() && vendor(*child) == Vendor::Bpmn)
}

/// The first child element of BPMN with a name.
pub(super) fn child<'a>(element: XmlElement<'a>, wanted: &str) -> Option<XmlElement<'a>> {
    children(element).find(|child| name(*child) == wanted)
}

/// The elements in `extensionElements`.
pub(super) fn extensions(element: XmlElement<'_>) -> impl Iterator<Item = XmlElement<'_>> {
    let holders = children(element).filter(|child| name(*child) == "extensionElements");
    holders.flat_map(|holder| holder.children().filter(Node::is_element))
}

/// The first element of a vendor with a name in `extensionElements`.
pub(super) fn extension<'a>(
    element: XmlElement<'a>,
    of: Vendor,
    wanted: &str,
) -> Option<XmlElement<'a>> {
    extensions(element).find(|it| vendor(*it) == of && name(*it) == wanted)
}

/// Elements of a vendor directly inside one of its elements.
pub(super) fn vendor_children<'a>(
    element: XmlElement<'a>,
    wanted: &'static str,
) -> impl Iterator<Item = XmlElement<'a>> {
    let of = vendor(element);
    element.children().filter(move |it| it.is_element() && vendor(*it) == of && name(*it) == wanted)
}

/// An attribute without a prefix; an empty one counts as absent.
pub(super) fn attribute<'a>(element: XmlElement<'a>, wanted: &str) -> Option<&'a str> {
    let found = element.attributes().find(|it| it.namespace().is_none() && it.name() == wanted);
    found.map(|it| it.value().trim()).filter(|value| !value.is_empty())
}

/// An attribute of a vendor; an empty one counts as absent.
pub(super) fn vendor_attribute<'a>(
    element: XmlElement<'a>,
    of: Vendor,
    wanted: &str,
) -> Option<&'a str> {
    let is_it = |it: &roxmltree::Attribute<'a, '_>| {
        it.namespace().is_some() && Vendor::of(it.namespace()) == of && it.name() == wanted
    };
    element.attributes().find(is_it).map(|it| it.value().trim()).filter(|value| !value.is_empty())
}

/// Attributes with a prefix, by their vendor.
pub(super) fn vendor_attributes(
    element: XmlElement<'_>,
) -> impl Iterator<Item = (Vendor, roxmltree::Attribute<'_, '_>)> {
    let prefixed = element.attributes().filter(|it| it.namespace().is_some());
    prefixed.map(|it| (Vendor::of(it.namespace()), it))
}

/// All text inside an element, without comments.
pub(super) fn text(element: XmlElement<'_>) -> String {
    let texts = element.descendants().filter(Node::is_text).filter_map(|it| it.text());
    texts.collect::<String>().trim().to_owned()
}

/// A reference to a definition by a qualified name: its local part, when the prefix is declared.
pub(super) fn local_part<'a>(element: XmlElement<'_>, reference: &'a str) -> &'a str {
    match reference.split_once(':') {
        Some((prefix, local)) if element.lookup_namespace_uri(Some(prefix)).is_some() => local,
        _ => reference,
    }
}
