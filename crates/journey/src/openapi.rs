//! The parts of an `OpenAPI` 3 file that journeys use: the URL of an operation and its required
//! parameters.

use std::collections::BTreeMap;

use crate::yaml::{self, Node};

/// One file.
#[derive(Debug, Default)]
pub(crate) struct OpenApi {
    operations: BTreeMap<String, Vec<Operation>>,
}

/// One operation.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    pub(crate) method: String,
    /// The first server and the path, with `{name}` for parameters.
    pub(crate) url: String,
    pub(crate) required: Vec<Parameter>,
}

/// A required parameter.
#[derive(Debug, Clone)]
pub(crate) struct Parameter {
    /// `path`, `query` or `headers`.
    pub(crate) location: String,
    pub(crate) name: String,
}

const HTTP_METHODS: [&str; 6] = ["get", "post", "put", "delete", "patch", "head"];

impl OpenApi {
    /// Parses a file.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut documents = yaml::read_with_aliases(text);
        if let Some(problem) = documents.problems.first() {
            let (line, message) = (problem.span.start.line, &problem.message);
            return Err(format!("line {line}: {message}"));
        }
        let Some(root) = documents.roots.pop() else { return Err("the file is empty".to_owned()) };
        let version = root.get("openapi").and_then(Node::text).unwrap_or_default();
        if !version.starts_with("3.") {
            return Err(format!("`openapi` is `{version}`, not 3.x"));
        }
        let server = first_server(&root)?;
        let mut api = Self::default();
        for path in root.get("paths").and_then(Node::entries).unwrap_or_default() {
            for method in HTTP_METHODS {
                let Some(operation) = path.value.get(method) else { continue };
                let Some(id) = operation.get("operationId").and_then(Node::text) else { continue };
                let shared = parameters(&root, &path.value);
                let own = parameters(&root, operation);
                let found = Operation {
                    method: method.to_uppercase(),
                    url: format!("{server}{}", path.key),
                    required: shared.chain(own).collect(),
                };
                api.operations.entry(id.to_owned()).or_default().push(found);
            }
        }
        Ok(api)
    }

    /// The operation with an id, which must be unique.
    pub(crate) fn operation(&self, id: &str) -> Result<&Operation, String> {
        match self.operations.get(id).map(Vec::as_slice) {
            Some([operation]) => Ok(operation),
            Some(_) => Err(format!("several operations have the id `{id}`")),
            None => Err(format!("no operation has the id `{id}`")),
        }
    }
}

/// The first server's URL without a trailing slash; variables have their default values.
fn first_server(root: &Node) -> Result<String, String> {
    let crate::yaml::Content::List(servers) =
        &root.get("servers").ok_or_else(|| "the file has no `servers`".to_owned())?.content
    else {
        return Err("`servers` is not a list".to_owned());
    };
    let server = servers.first().ok_or_else(|| "`servers` is empty".to_owned())?;
    let mut url = server.get("url").and_then(Node::text).unwrap_or_default().to_owned();
    for variable in server.get("variables").and_then(Node::entries).unwrap_or_default() {
        let default = variable.value.get("default").and_then(Node::text).unwrap_or_default();
        url = url.replace(&format!("{{{}}}", variable.key), default);
    }
    if !crate::read::is_absolute(&url) {
        return Err(format!("the first server's URL `{url}` is not absolute"));
    }
    Ok(url.trim_end_matches('/').to_owned())
}

fn parameters(root: &Node, node: &Node) -> impl Iterator<Item = Parameter> {
    let items = match node.get("parameters").map(|it| &it.content) {
        Some(crate::yaml::Content::List(items)) => items.as_slice(),
        _ => &[],
    };
    let resolved = items.iter().filter_map(|item| match item.get("$ref").and_then(Node::text) {
        Some(reference) => resolve(root, reference),
        None => Some(item),
    });
    resolved.filter_map(parameter).collect::<Vec<_>>().into_iter()
}

fn parameter(node: &Node) -> Option<Parameter> {
    let location = match node.get("in").and_then(Node::text)? {
        "path" => "path",
        "query" => "query",
        "header" => "headers",
        _ => return None,
    };
    let required = matches!(
        node.get("required").map(|it| &it.content),
        Some(crate::yaml::Content::Bool(true))
    );
    let name = node.get("name").and_then(Node::text)?.to_owned();
    (required || location == "path").then(|| Parameter { location: location.to_owned(), name })
}

/// A reference within the file.
fn resolve<'n>(root: &'n Node, reference: &str) -> Option<&'n Node> {
    let path = reference.strip_prefix("#/")?;
    path.split('/')
        .try_fold(root, |node, part| node.get(&part.replace("~1", "/").replace("~0", "~")))
}
