//! Names that an expression itself introduces: iterations, parameters, contexts.

use std::sync::Arc;

use meantime_value::{Object, Value};

/// A chain of frames, innermost first. Cheap to clone, so functions can keep theirs.
#[derive(Debug, Clone, Default)]
pub(crate) struct LexicalScope(Option<Arc<Frame>>);

#[derive(Debug)]
struct Frame {
    what: FrameBinding,
    outer: LexicalScope,
    /// Levels of the deepest value in the chain.
    depth: u32,
}

#[derive(Debug)]
enum FrameBinding {
    One(String, Value),
    Object(Arc<Object>),
}

impl LexicalScope {
    pub(crate) fn with(&self, name: &str, value: Value) -> Self {
        let depth = value.depth().max(self.depth());
        let what = FrameBinding::One(name.to_owned(), value);
        Self(Some(Arc::new(Frame { what, outer: self.clone(), depth })))
    }

    pub(crate) fn with_object(&self, object: Arc<Object>) -> Self {
        let depth = object.depth().max(self.depth());
        Self(Some(Arc::new(Frame {
            what: FrameBinding::Object(object),
            outer: self.clone(),
            depth,
        })))
    }

    /// Levels of the deepest value among them.
    pub(crate) fn depth(&self) -> u32 {
        self.0.as_ref().map_or(0, |frame| frame.depth)
    }

    /// The value of a name, and how many names were compared.
    pub(crate) fn get(&self, name: &str) -> (Option<Value>, u64) {
        let mut at = &self.0;
        let mut looked_at = 0_u64;
        while let Some(frame) = at {
            let (found, names) = match &frame.what {
                FrameBinding::One(own, value) => ((own == name).then(|| value.clone()), 1),
                FrameBinding::Object(object) => (object.get(name).cloned(), object.len() as u64),
            };
            looked_at = looked_at.saturating_add(names);
            if found.is_some() {
                return (found, looked_at);
            }
            at = &frame.outer.0;
        }
        (None, looked_at)
    }
}

/// Frees the frames one after the other: a recursive drop of a long chain would need as many stack
/// frames as it has frames.
impl Drop for LexicalScope {
    fn drop(&mut self) {
        let mut at = self.0.take();
        while let Some(frame) = at {
            at = Arc::into_inner(frame).and_then(|mut frame| frame.outer.0.take());
        }
    }
}
