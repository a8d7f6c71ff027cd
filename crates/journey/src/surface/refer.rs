//! Files that a source refers to and that must be deployed with it.

use crate::yaml::{self, Node};

/// Names of the `OpenAPI` files, each once, in order.
pub fn references(text: &str) -> Vec<String> {
    let documents = yaml::read(text);
    let mut names = Vec::new();
    for root in &documents.roots {
        let apis = root.get("spec").and_then(|spec| spec.get("apis")).and_then(Node::entries);
        for api in apis.unwrap_or_default() {
            let name = api.value.get("openApiRef").and_then(Node::text);
            if let Some(name) = name.filter(|name| !names.iter().any(|it| it == name)) {
                names.push(name.to_owned());
            }
        }
    }
    names
}
