//! Deploys: new versions, the same again, and versions that go.

use std::sync::Arc;

use meantime_core::Source;
use meantime_kernel::command::{Command, Deployment};

use crate::simulation::programs::{name_of, program};
use crate::simulation::run::Run;

impl Run {
    pub(super) fn redeploy(&mut self) {
        let count = self.load.programs.texts.len();
        let number = self.load.chance.below(count);
        match self.load.chance.below(5) {
            0 | 1 => self.deploy(number, "deploy the same"),
            2 | 3 => {
                let text = program(number, count, &mut self.load.chance);
                self.load.programs.texts[number] = text;
                self.deploy(number, "deploy");
            }
            _ => {
                let name = name_of(number);
                let latest = self.load.versions.get(&name).copied().unwrap_or(1);
                let version = self.load.chance.pick(&[1, latest]);
                self.ask("undeploy", Command::Undeploy { name, version });
            }
        }
    }

    /// Deploys the text of a program as it is now.
    pub(in crate::simulation) fn deploy(&mut self, number: usize, name: &'static str) {
        let text = self.load.programs.texts[number].as_str().into();
        let source = Source { name: name_of(number), text, files: Vec::new() };
        let limits = &self.setup.config.limits;
        let compiled = self.nodes[0].notations.compile("probe", &source, limits);
        let definitions = compiled.into_iter().flat_map(|it| it.definitions).map(Arc::new);
        let (notation, definitions) = ("probe".to_owned(), definitions.collect());
        self.ask(name, Command::Deploy(Deployment { notation, source, definitions }));
    }
}
