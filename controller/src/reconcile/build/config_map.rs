//! The ConfigMap of a Task.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use serde::Serialize;
use task_api_v1::TaskSpec;

use super::{Error, Owner};
use crate::names;

/// The configuration file, as the program in the container reads it.
#[derive(Serialize)]
struct AppConf<'a> {
    /// The port that the program listens on.
    port: i32,
    /// The variables as the Task gives them: references are not resolved here.
    env: &'a BTreeMap<String, String>,
}

/// The ConfigMap that holds the configuration file.
pub(super) fn config_map(owner: &Owner, spec: &TaskSpec) -> Result<ConfigMap, Error> {
    Ok(ConfigMap {
        metadata: owner.child(owner.config_map_name()),
        data: Some(BTreeMap::from([(
            names::CONFIG_KEY.to_owned(),
            app_conf(spec)?,
        )])),
        ..ConfigMap::default()
    })
}

/// The text of the configuration file: YAML 1.2 that YAML 1.1 reads the same.
fn app_conf(spec: &TaskSpec) -> Result<String, Error> {
    let none = BTreeMap::new();
    serde_saphyr::to_string(&AppConf {
        port: spec.port,
        env: spec.env.as_ref().unwrap_or(&none),
    })
    .map_err(Error::AppConf)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Read {
        port: i32,
        env: BTreeMap<String, String>,
    }

    fn spec(env: &[(&str, &str)]) -> TaskSpec {
        TaskSpec {
            port: 80,
            env: Some(
                env.iter()
                    .map(|&(name, value)| (name.to_owned(), value.to_owned()))
                    .collect(),
            ),
            ..TaskSpec::default()
        }
    }

    #[test]
    fn the_file_holds_the_port_and_the_variables_by_name() {
        let text = app_conf(&spec(&[("ENV", "prod"), ("DEBUG", "0")])).unwrap();
        assert_eq!(text, "port: 80\nenv:\n  DEBUG: \"0\"\n  ENV: prod\n");
    }

    #[test]
    fn without_variables_env_is_an_empty_map() {
        let text = app_conf(&spec(&[])).unwrap();
        assert_eq!(text, "port: 80\nenv: {}\n");
    }

    #[test]
    fn what_yaml_1_1_takes_for_something_else_is_quoted() {
        for value in [
            "yes",
            "no",
            "on",
            "off",
            "y",
            "N",
            "null",
            "~",
            "0x1F",
            "0o7",
            "012",
            "1_000",
            "1:30",
            "2001-01-01",
            ".inf",
            "1e3",
            "=",
            "<<",
        ] {
            let text = app_conf(&spec(&[("A", value)])).unwrap();
            let line = text.lines().last().unwrap();
            assert!(line.ends_with('"') || line.ends_with('\''), "{line}");
        }
    }

    proptest! {
        #[test]
        fn the_file_reads_back_as_what_was_written(
            port in 1..=65535_i32,
            env in proptest::collection::btree_map("[-._a-zA-Z][-._a-zA-Z0-9]{0,12}", "\\PC{0,20}|[ -~\n\t]{0,60}|[:#&*!|>'\"%@`{}\\[\\], \n\r\t-]{0,8}", 0..8)
        ) {
            let spec = TaskSpec { port, env: Some(env.clone()), ..TaskSpec::default() };
            let text = app_conf(&spec).unwrap();
            let read: Read = serde_saphyr::from_str(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
            prop_assert_eq!(read.port, port);
            prop_assert_eq!(read.env, env, "{}", text);
        }
    }
}
