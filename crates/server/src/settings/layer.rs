//! Merges file, environment and flags into the settings.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::Settings;

/// The prefix of environment variables: `MEANTIME_LISTEN`, `MEANTIME_HTTP__MAX_BODY_BYTES`.
const ENV_PREFIX: &str = "MEANTIME_";

/// Why the configuration is not valid.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: std::io::Error,
    },
    /// The file is not TOML.
    #[error("{}: {source}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The syntax error with its position.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// A setting is unknown or has an invalid value.
    #[error("configuration: {0}")]
    Value(Box<toml::de::Error>),
}

/// Layers of settings; each one overrides those before it.
#[derive(Debug, Default)]
pub struct Layers(Table);

impl Layers {
    /// Adds the settings of a TOML file.
    pub fn file(mut self, path: &Path) -> Result<Self, SettingsError> {
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|source| SettingsError::File { path: path.to_owned(), source })?;
        let table: Table = text.parse().map_err(|source| SettingsError::Syntax {
            path: path.to_owned(),
            source: Box::new(source),
        })?;
        merge(&mut self.0, table);
        Ok(self)
    }

    /// Adds environment variables: `MEANTIME_` and the path of the setting, with `__` between
    /// parts.
    #[must_use]
    pub fn environment(mut self, variables: impl Iterator<Item = (String, String)>) -> Self {
        for (name, value) in variables {
            let Some(path) = name.strip_prefix(ENV_PREFIX) else { continue };
            let path: Vec<String> = path.split("__").map(str::to_ascii_lowercase).collect();
            if !is_reserved(path.first().map_or("", String::as_str)) {
                put(&mut self.0, &path, read(&value));
            }
        }
        self
    }

    /// Adds a setting by its dotted path.
    #[must_use]
    pub fn flag(mut self, path: &str, value: impl Into<Value>) -> Self {
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        put(&mut self.0, &path, value.into());
        self
    }

    /// The merged settings; unknown settings are rejected.
    pub fn settings(self) -> Result<Settings, SettingsError> {
        self.0.try_into().map_err(|error| SettingsError::Value(Box::new(error)))
    }
}

/// Variables of command line options, of builds and of tests, which are not settings.
fn is_reserved(name: &str) -> bool {
    matches!(name, "config" | "url" | "token" | "console" | "console_dist")
        || name.starts_with("test_")
}

fn merge(into: &mut Table, from: Table) {
    for (name, value) in from {
        match (into.get_mut(&name), value) {
            (Some(Value::Table(below)), Value::Table(above)) => merge(below, above),
            (_, value) => {
                into.insert(name, value);
            }
        }
    }
}

fn put(table: &mut Table, path: &[String], value: Value) {
    let [name, rest @ ..] = path else { return };
    if rest.is_empty() {
        table.insert(name.clone(), value);
        return;
    }
    let entry = table.entry(name.clone()).or_insert_with(|| Value::Table(Table::new()));
    if let Value::Table(inner) = entry {
        put(inner, rest, value);
    }
}

/// Parses a number, a boolean or a list; anything else is a string.
fn read(text: &str) -> Value {
    let parsed: Option<Table> = format!("value = {text}").parse().ok();
    match parsed.and_then(|mut table| table.remove("value")) {
        Some(value @ (Value::Integer(_) | Value::Boolean(_) | Value::Array(_))) => value,
        _ => Value::String(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> impl Iterator<Item = (String, String)> {
        let pairs: Vec<_> = pairs.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        pairs.into_iter()
    }

    #[test]
    fn flags_win_over_variables_and_variables_over_files() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("meantime.toml");
        let text = "listen = \"127.0.0.1:1\"\n[http]\nmax_body_bytes = 1\nmax_json_depth = 2\n";
        std::fs::write(&path, text).unwrap();
        let given = variables(&[
            ("MEANTIME_LISTEN", "127.0.0.1:2"),
            ("MEANTIME_HTTP__MAX_BODY_BYTES", "3"),
            ("MEANTIME_DB", "sqlite:/tmp/a.db"),
            ("MEANTIME_CONFIG", "x"),
            ("MEANTIME_TEST_POSTGRES", "y"),
            ("MEANTIME_CONSOLE", "on"),
            ("MEANTIME_CONSOLE_DIST", "dist"),
            ("HOME", "/root"),
        ]);
        let layers = Layers::default().file(&path).unwrap().environment(given);
        let settings = layers.flag("listen", "127.0.0.1:4").settings().unwrap();
        assert_eq!(settings.listen.port(), 4);
        assert_eq!((settings.http.max_body_bytes, settings.http.max_json_depth), (3, 2));
        assert_eq!(settings.db.to_string(), "sqlite:/tmp/a.db");
    }

    #[test]
    fn unknown_settings_are_rejected_by_name() {
        let layers = Layers::default().environment(variables(&[("MEANTIME_HTTP__BODY", "3")]));
        let error = layers.settings().unwrap_err().to_string();
        assert!(error.contains("unknown field `body`"), "{error}");
        let error = Layers::default().flag("db", "mysql:x").settings().unwrap_err().to_string();
        assert!(error.contains("neither sqlite:PATH nor postgres"), "{error}");
    }

    #[test]
    fn printed_settings_can_be_read() {
        let printed = toml::to_string(&Settings::default()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("meantime.toml");
        std::fs::write(&path, printed).unwrap();
        let read = Layers::default().file(&path).unwrap().settings().unwrap();
        assert_eq!(read, Settings::default());
    }
}
