//! Deploys: new versions, unchanged versions, and undeploys.

use std::sync::Arc;

use meantime_core::Source;
use meantime_kernel::command::{Command, Deployment};

use crate::simulation::programs::{generate_program, program_name};
use crate::simulation::run::Simulation;

impl Simulation {
    pub(super) fn deploy_or_undeploy(&mut self) {
        let count = self.workload.programs.texts.len();
        let number = self.workload.rng.below(count);
        match self.workload.rng.below(5) {
            0 | 1 => self.deploy_program(number, "deploy the same"),
            2 | 3 => {
                let text = generate_program(number, count, &mut self.workload.rng);
                self.workload.programs.texts[number] = text;
                self.deploy_program(number, "deploy");
            }
            _ => {
                let name = program_name(number);
                let latest_engine_time = self.workload.versions.get(&name).copied().unwrap_or(1);
                let version = self.workload.rng.pick(&[1, latest_engine_time]);
                self.send_command("undeploy", Command::Undeploy { name, version });
            }
        }
    }

    /// Deploys the current text of a program.
    pub(in crate::simulation) fn deploy_program(&mut self, number: usize, name: &'static str) {
        let text = self.workload.programs.texts[number].as_str().into();
        let source = Source { name: program_name(number), text, files: Vec::new() };
        let limits = &self.setup.config.limits;
        let compiled = self.nodes[0].notations.compile("probe", &source, limits);
        let definitions = compiled.into_iter().flat_map(|it| it.definitions).map(Arc::new);
        let (notation, definitions) = ("probe".to_owned(), definitions.collect());
        self.send_command(name, Command::Deploy(Deployment { notation, source, definitions }));
    }
}
