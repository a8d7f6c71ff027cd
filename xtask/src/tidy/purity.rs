//! I6: the pure crates reach no runtime, database, network, clock or random source.
//!
//! The graph is the one that cargo resolved for the whole workspace: a feature that another crate
//! enables is also enabled in the shipped binary.

use std::collections::{BTreeMap, VecDeque};

use super::Problem;
use super::repo::{DependencyKind, Repo};

/// Crates that may only compute. A name may be listed before its crate exists.
const PURE_CRATES: &[&str] = &[
    "meantime-core",
    "meantime-value",
    "meantime-dataweave",
    "meantime-feel",
    "meantime-script",
    "meantime-journey",
    "meantime-bpmn",
    "meantime-flow",
];

/// Packages that wait, store, use the network, read the clock or draw random numbers.
const IMPURE_PACKAGES: &[&str] = &[
    "async-io",
    "async-std",
    "axum",
    "deadpool-postgres",
    "fastrand",
    "getrandom",
    "h2",
    "hyper",
    "hyper-util",
    "iana-time-zone",
    "libsqlite3-sys",
    "mio",
    "oorandom",
    "postgres",
    "quinn",
    "rand",
    "rand_core",
    "reqwest",
    "rusqlite",
    "smol",
    "socket2",
    "sqlx",
    "tokio",
    "tokio-postgres",
    "ureq",
];

/// Features that add a clock or the time zone of the host to a package that is pure without them.
const IMPURE_FEATURES: &[(&str, &str)] =
    &[("jiff", "tz-system"), ("chrono", "clock"), ("chrono", "now"), ("time", "local-offset")];

/// Packages whose own dependencies are not checked, because their randomness cannot be observed.
/// `jsonschema` draws the seeds of its hash maps; the journey notation sorts its results.
const CONTAINED_PACKAGES: &[&str] = &["jsonschema"];

pub(super) fn check(repo: &Repo) -> Vec<Problem> {
    let mut problems = Vec::new();
    for name in PURE_CRATES {
        if let Some(start) = repo.package(name) {
            reachable(repo, start, &mut problems);
        }
    }
    check_kernel_runtime(repo, &mut problems);
    problems
}

/// Walks the normal dependencies breadth first, so that the reported path is a shortest one.
fn reachable(repo: &Repo, start: usize, problems: &mut Vec<Problem>) {
    let mut parent = BTreeMap::from([(start, start)]);
    let mut queue = VecDeque::from([start]);
    while let Some(at) = queue.pop_front() {
        let Some(package) = repo.packages.get(at) else { continue };
        if CONTAINED_PACKAGES.contains(&package.name.as_str()) {
            continue;
        }
        if IMPURE_PACKAGES.contains(&package.name.as_str()) {
            let message = format!(
                "a pure crate must not reach `{}` (I6): drop the dependency or its feature, or \
                 move the code to the kernel, the store or the server",
                package.name
            );
            problems.push(Problem::new(path(repo, &parent, at), message));
            continue;
        }
        for (name, feature) in IMPURE_FEATURES {
            if package.name == *name && package.features.iter().any(|on| on == feature) {
                let message = format!(
                    "feature `{feature}` of `{name}` reads the host (I6): switch it off where it \
                     is asked for, `cargo tree -e features -i {name}` shows where"
                );
                problems.push(Problem::new(path(repo, &parent, at), message));
            }
        }
        for edge in package.dependencies.iter().filter(|edge| edge.kind == DependencyKind::Normal) {
            parent.entry(edge.to).or_insert_with(|| {
                queue.push_back(edge.to);
                at
            });
        }
    }
}

fn path(repo: &Repo, parent: &BTreeMap<usize, usize>, mut at: usize) -> String {
    let name = |at: usize| repo.packages.get(at).map_or("?", |package| package.name.as_str());
    let mut names = vec![name(at)];
    while let Some(next) = parent.get(&at).copied().filter(|next| *next != at) {
        names.push(name(next));
        at = next;
    }
    names.reverse();
    names.join(" → ")
}

/// The kernel is a machine without IO; only its driver knows the runtime.
fn check_kernel_runtime(repo: &Repo, problems: &mut Vec<Problem>) {
    const KERNEL: &str = "crates/kernel/src/";
    for (file, source) in repo.rust() {
        let Some(inside) = file.path.strip_prefix(KERNEL) else { continue };
        if inside == "driver.rs" || inside.starts_with("driver/") {
            continue;
        }
        for at in source.find("tokio") {
            let message = "the kernel uses tokio only in `driver` (I6): return what is to be \
                           done as data and let the driver do it";
            problems.push(Problem::at(&file.path, source.line(at), message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impure_package_is_found_at_any_depth_with_its_path() {
        let repo = Repo::with_dependencies(&[
            ("meantime-core", DependencyKind::Normal, "croner"),
            ("croner", DependencyKind::Normal, "rand"),
        ]);
        let problems = check(&repo);
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].location, "meantime-core → croner → rand");
    }

    #[test]
    fn what_a_contained_package_uses_is_its_own_business() {
        let repo = Repo::with_dependencies(&[
            ("meantime-journey", DependencyKind::Normal, "jsonschema"),
            ("jsonschema", DependencyKind::Normal, "getrandom"),
        ]);
        assert_eq!(check(&repo), []);
    }

    #[test]
    fn tests_and_build_scripts_may_use_anything() {
        let repo = Repo::with_dependencies(&[
            ("meantime-core", DependencyKind::Dev, "proptest"),
            ("proptest", DependencyKind::Normal, "rand"),
            ("meantime-core", DependencyKind::Build, "getrandom"),
            ("meantime-store", DependencyKind::Normal, "rusqlite"),
        ]);
        assert_eq!(check(&repo), []);
    }

    #[test]
    fn the_time_zone_of_the_host_is_not_for_pure_crates() {
        let mut repo =
            Repo::with_dependencies(&[("meantime-core", DependencyKind::Normal, "jiff")]);
        let jiff = repo.add_package("jiff");
        repo.packages[jiff].features.push("std".to_owned());
        assert_eq!(check(&repo), []);
        repo.packages[jiff].features.push("tz-system".to_owned());
        assert_eq!(check(&repo).len(), 1);
    }

    #[test]
    fn the_kernel_names_tokio_in_its_driver_only() {
        let repo = Repo::with_files(&[
            ("crates/kernel/src/driver/run.rs", "use tokio::sync::mpsc;"),
            ("crates/kernel/src/driver.rs", "use tokio::sync::mpsc;"),
            ("crates/kernel/src/ready.rs", "// tokio::spawn is for the driver\n"),
            ("crates/kernel/src/timer.rs", "\nfn a() { tokio::spawn(b()); }"),
        ]);
        let problems = check(&repo);
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].location, "crates/kernel/src/timer.rs:2");
    }
}
