//! Crates depend downwards only:
//!
//! ```text
//! cli → {bench, server, simulate} → {journey, bpmn, flow, store}
//!     → {dataweave, feel, script, kernel} → value → core
//! ```
//!
//! The simulator may use every crate; only tests may use the simulator. Developer commands depend
//! on no crate of the engine, so that they still build when the engine does not.

use super::Problem;
use super::repo::{DependencyKind, Repo};

/// What each crate may depend on, without the `meantime-` of the package names.
const ALLOWED_DEPENDENCIES: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("value", &["core"]),
    // One crate per language: a notation is built with the languages that it uses, and no others.
    ("dataweave", &["core", "value"]),
    ("feel", &["core", "value"]),
    ("script", &["core"]),
    ("kernel", &["core"]),
    ("journey", &["core", "value", "dataweave"]),
    ("bpmn", &["core", "value", "dataweave", "feel", "script"]),
    ("flow", &["core", "script"]),
    ("store", &["core", "kernel"]),
    // Simulations know no notation: they are given.
    ("simulate", &["core", "kernel"]),
    ("server", &["core", "kernel", "journey", "bpmn", "flow", "store"]),
    // The command `bench`: rigs in process and over sockets. Only its tests use the server.
    ("bench", &["core", "kernel", "flow", "store", "server"]),
    // The binary wires the crates below the server together, so it may name them.
    (
        "cli",
        &[
            "bench",
            "console",
            "server",
            "simulate",
            "store",
            "kernel",
            "journey",
            "bpmn",
            "flow",
            "dataweave",
            "feel",
            "script",
            "value",
            "core",
        ],
    ),
    // Data only: the built console.
    ("console", &[]),
    // Only for the simulator: a layer under SQLite that knows nothing of the engine.
    ("disk", &[]),
    (
        "sim",
        &[
            "disk",
            "bench",
            "core",
            "value",
            "dataweave",
            "feel",
            "script",
            "kernel",
            "journey",
            "bpmn",
            "flow",
            "store",
            "server",
            "cli",
        ],
    ),
    // Never shipped: generated input for everything that reads what others wrote.
    (
        "fuzz",
        &[
            "core",
            "value",
            "dataweave",
            "feel",
            "script",
            "kernel",
            "journey",
            "bpmn",
            "flow",
            "store",
            "server",
        ],
    ),
    ("xtask", &[]),
];

pub(super) fn check(repo: &Repo) -> Vec<Problem> {
    let mut problems = Vec::new();
    for package in repo.packages.iter().filter(|package| package.is_ours) {
        let from = short(&package.name);
        let Some((_, allowed)) = ALLOWED_DEPENDENCIES.iter().find(|(name, _)| *name == from) else {
            let message = "an unknown crate: decide what it may depend on and add a line to the \
                           table in xtask/src/tidy/crate_graph.rs";
            problems.push(Problem::new(&package.name, message));
            continue;
        };
        for edge in &package.dependencies {
            let Some(target) = repo.packages.get(edge.to).filter(|target| target.is_ours) else {
                continue;
            };
            let to = short(&target.name);
            // Tests of any crate may use the simulator.
            let for_tests = edge.kind == DependencyKind::Dev && (to == "sim" || to == from);
            if !allowed.contains(&to) && !for_tests {
                let message = format!(
                    "`{from}` must not depend on `{to}`: dependencies go downwards only (cli → \
                     bench and server → notations and store → languages and kernel → value → core); \
                     move the shared part down"
                );
                problems.push(Problem::new(&package.name, message));
            }
        }
    }
    problems
}

fn short(name: &str) -> &str {
    name.strip_prefix("meantime-").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(from: &str, kind: DependencyKind, to: &str) -> bool {
        check(&Repo::with_dependencies(&[(from, kind, to)])).is_empty()
    }

    #[test]
    fn downwards_is_allowed_and_upwards_is_not() {
        assert!(allowed("meantime-store", DependencyKind::Normal, "meantime-kernel"));
        assert!(!allowed("meantime-kernel", DependencyKind::Normal, "meantime-store"));
        assert!(!allowed("meantime-core", DependencyKind::Build, "meantime-kernel"));
        assert!(!allowed("meantime-journey", DependencyKind::Normal, "meantime-bpmn"));
        assert!(!allowed("meantime-flow", DependencyKind::Normal, "meantime-kernel"));
    }

    #[test]
    fn a_flow_is_built_without_the_other_languages() {
        assert!(allowed("meantime-flow", DependencyKind::Normal, "meantime-script"));
        for language in ["meantime-dataweave", "meantime-feel", "meantime-value"] {
            assert!(!allowed("meantime-flow", DependencyKind::Normal, language));
            assert!(!allowed("meantime-script", DependencyKind::Normal, language));
        }
        assert!(!allowed("meantime-feel", DependencyKind::Normal, "meantime-dataweave"));
    }

    #[test]
    fn only_tests_use_the_simulator() {
        assert!(allowed("meantime-kernel", DependencyKind::Dev, "meantime-sim"));
        assert!(!allowed("meantime-server", DependencyKind::Normal, "meantime-sim"));
        assert!(allowed("meantime-sim", DependencyKind::Normal, "meantime-server"));
    }

    #[test]
    fn developer_commands_depend_on_no_crate_of_ours() {
        assert!(allowed("xtask", DependencyKind::Normal, "anyhow"));
        assert!(!allowed("xtask", DependencyKind::Normal, "meantime-core"));
        assert!(!allowed("meantime-cli", DependencyKind::Normal, "xtask"));
    }

    #[test]
    fn a_new_crate_needs_a_decision() {
        assert!(!allowed("meantime-helpers", DependencyKind::Normal, "anyhow"));
    }
}
