//! The definitions that are deployed on the servers under test.

/// A definition as it is sent to a server.
pub(super) struct BenchSource {
    /// The name of the definition. BPMN and journey sources contain it too.
    pub(super) name: &'static str,
    pub(super) media_type: &'static str,
    pub(super) text: &'static str,
}

const fn flow(name: &'static str, text: &'static str) -> BenchSource {
    BenchSource { name, media_type: "text/javascript", text }
}

const fn journey(name: &'static str, text: &'static str) -> BenchSource {
    BenchSource { name, media_type: "application/yaml", text }
}

const fn bpmn(name: &'static str, text: &'static str) -> BenchSource {
    BenchSource { name, media_type: "application/xml", text }
}

/// `ends` ends at once, `task` waits for a worker, `sleep` for a day.
pub(super) const FLOWS: &[BenchSource] = &[
    flow("ends", "return 1"),
    flow("task", "return await Task.run('noop', {})"),
    flow("sleep", "await Task.delay('P1D')"),
];

/// `one` and `five` wait for so many tasks, one after the other.
pub(super) const ROUND_TRIPS: &[BenchSource] = &[
    flow("one", "return await Task.run('noop', {})"),
    flow(
        "five",
        "let sum = 0\nfor (let i = 0; i < 5; i++) { sum += await Task.run('noop', { i }) }\nreturn sum",
    ),
];

/// `ends` ends at once, `naps` after a second. `naps` also offers a task that no worker claims, so
/// that it is not idle while it sleeps, and a caller that waits is answered at its end.
pub(super) const GOOD_DEFINITIONS: &[BenchSource] = &[
    flow("ends", "return 1"),
    flow("naps", "await Task.race([Task.run('nobody', {}), Task.delay(1)])"),
];

/// `decide` ends at once; the others wait for an answer, a callback or an instant.
pub(super) const JOURNEYS: &[BenchSource] = &[
    journey("decide", include_str!("definitions/decide.journey.yaml")),
    journey("asks", include_str!("definitions/asks.journey.yaml")),
    journey("hears", include_str!("definitions/hears.journey.yaml")),
    journey("naps", include_str!("definitions/naps.journey.yaml")),
];

/// `routed` and `guarded` wait for a worker, `scripted` ends at once.
pub(super) const PROCESSES: &[BenchSource] = &[
    bpmn("routed", include_str!("definitions/routed.bpmn")),
    bpmn("scripted", include_str!("definitions/scripted.bpmn")),
    bpmn("guarded", include_str!("definitions/guarded.bpmn")),
];
