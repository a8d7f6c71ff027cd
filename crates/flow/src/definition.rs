//! Compiles a file to definitions.

use std::sync::Arc;

use meantime_core::time::Zone;
use meantime_core::{
    Compiled, DEADLINE_EXCEEDED, Definition, Execution, Limits, RetryPolicy, Severity, Source,
};
use meantime_script::{Program, Workflow, compile_script};

use crate::front_matter::{Settings, settings};
use crate::problem::Code;

/// The compiled workflow that its instances share.
#[derive(Debug)]
pub(crate) struct CompiledWorkflow {
    pub(crate) program: Arc<Program>,
    /// The index of the workflow in the file.
    pub(crate) workflow: usize,
    pub(crate) retry: RetryPolicy,
    pub(crate) tags: Vec<String>,
}

/// Compiles a file: its front matter, its script, its workflows.
pub(crate) fn compile(source: &Source, limits: &Limits) -> Compiled {
    let (settings, mut diagnostics) = settings(&source.text, limits);
    let script = compile_script(&source.text, &source.name);
    diagnostics.extend(script.diagnostics);
    let mut definitions = Vec::new();
    if let Some(program) = script.program {
        let program = Arc::new(program);
        let workflows = program.workflows().to_vec();
        check_settings(&settings, &workflows, &mut diagnostics);
        for (index, workflow) in workflows.iter().enumerate() {
            let at = program.declared_at(workflow);
            match workflow_name(workflow, &settings, source, limits) {
                Ok(name) => definitions.push(definition(name, index, &program, &settings)),
                Err(problem) => diagnostics.push(Code::Name.at(at, problem)),
            }
        }
    }
    diagnostics.sort_by_key(|it| it.start);
    if diagnostics.iter().any(|it| it.severity == Severity::Error) {
        definitions.clear();
    }
    Compiled { definitions, diagnostics }
}

/// Checks settings that apply to only one workflow.
fn check_settings(
    settings: &Settings,
    workflows: &[Workflow],
    diagnostics: &mut Vec<meantime_core::Diagnostic>,
) {
    let is_named = workflows.iter().any(|workflow| workflow.name.is_some());
    if let (Some((_, at)), true) = (&settings.name, is_named) {
        let text = "`name` is for a bare script; these workflows have names of their own";
        diagnostics.push(Code::Setting.at(*at, text));
    }
    if let (Some((_, at)), true) = (&settings.schedule, workflows.len() > 1) {
        let text = "`schedule` needs a file with one workflow";
        let help = "put the scheduled workflow into a file of its own";
        diagnostics.push(Code::Setting.at(*at, text).with_help(help));
    }
}

/// The workflow's own name, that of the front matter, or that of the file.
fn workflow_name(
    workflow: &Workflow,
    settings: &Settings,
    source: &Source,
    limits: &Limits,
) -> Result<String, String> {
    let name = match (&workflow.name, &settings.name) {
        (Some(name), _) => name.to_string(),
        (None, Some((name, _))) => name.clone(),
        (None, None) => file_stem(&source.name).to_owned(),
    };
    let is_bad = |c: char| c.is_control() || c.is_whitespace() || c == '/';
    if name.is_empty() {
        Err("the workflow has no name: name the file, or add `name` to the front matter".to_owned())
    } else if name.len() > limits.name_bytes {
        Err(format!("the name has more than {} bytes", limits.name_bytes))
    } else if name.contains(is_bad) {
        Err(format!("the name {name:?} contains a blank or a slash"))
    } else {
        Ok(name)
    }
}

/// `flows/order.flow.js` and `flows/order.flow.ts` are `order`.
fn file_stem(name: &str) -> &str {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let stem = file.strip_suffix(".js").or_else(|| file.strip_suffix(".ts")).unwrap_or(file);
    stem.strip_suffix(".flow").unwrap_or(stem)
}

fn definition(
    name: String,
    workflow: usize,
    program: &Arc<Program>,
    settings: &Settings,
) -> Definition {
    let execution = settings.deadline.map(|max_duration| Execution {
        max_duration,
        zone: Zone::utc(),
        code: DEADLINE_EXCEEDED.to_owned(),
        reason: format!("the workflow did not end within {max_duration}"),
    });
    let (retry, tags) = (settings.retry, settings.tags.clone());
    let body = CompiledWorkflow { program: program.clone(), workflow, retry, tags };
    Definition {
        name,
        label: None,
        triggers: settings.triggers(),
        execution,
        system: false,
        body: Arc::new(body),
    }
}
