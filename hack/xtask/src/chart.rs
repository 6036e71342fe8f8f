//! What of the chart is generated: the templates of what is registered with the API server, whose one source is `crds/`; and the manifest
//! that is rendered from the chart.

use std::{io, path::Path, process::Command};

use control_plane::{Binaries, BinariesError, Tool};
use task_crds::{CONVERSION_SERVICE, NAMESPACE};

/// Where the chart is, in this repository.
pub(crate) const CHART: &str = "deploy/chart/task-operator";

/// The release that the manifest is rendered as. A release of this name has names without a prefix.
const RELEASE: &str = "task-operator";

const MANIFEST_HEADER: &str = "\
# Rendered from the chart by `make generate`. Do not edit.
apiVersion: v1
kind: Namespace
metadata:
  name: task-system
  labels:
    app.kubernetes.io/part-of: task-operator
    pod-security.kubernetes.io/enforce: restricted
    pod-security.kubernetes.io/warn: restricted
";

/// What every object of the chart has.
const LABELS: &str = r#"  labels:
    {{- include "task-operator.conversionLabels" . | nindent 4 }}
"#;

const DEFINITION_ANNOTATIONS: &str = r#"  annotations:
    {{- include "task-operator.crdAnnotations" . | nindent 4 }}
"#;

const WEBHOOK_ANNOTATIONS: &str = r#"  {{- with include "task-operator.inject" . }}
  annotations:
    {{- . | nindent 4 }}
  {{- end }}
"#;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Helm(#[from] BinariesError),
    #[error("cannot run helm")]
    Run(#[source] io::Error),
    #[error("helm cannot render the chart:\n{0}")]
    Render(String),
}

/// The generated templates of the chart: the name and the text of each.
pub(crate) fn templates() -> [(&'static str, String); 2] {
    let [(_, definition), (_, webhooks)] = task_crds::files();
    [
        (
            "crd.yaml",
            format!(
                "{{{{- if .Values.crds.enabled }}}}\n{}{{{{- end }}}}\n",
                template(&definition, DEFINITION_ANNOTATIONS)
            ),
        ),
        ("webhooks.yaml", template(&webhooks, WEBHOOK_ANNOTATIONS)),
    ]
}

/// Makes a template of a file in `crds/`: the names of the Service and of its namespace become those of the release, and each object
/// gets labels and annotations.
///
/// It stays text: whoever reads YAML and writes it again makes 4.294967295e+09 of a large number.
fn template(file: &str, annotations: &str) -> String {
    let service = format!("name: {CONVERSION_SERVICE}");
    let namespace = format!("namespace: {NAMESPACE}");
    let excluded = format!("- {NAMESPACE}");
    let mut template = String::new();
    for line in file.lines() {
        let text = line.trim_start();
        let indent = &line[..line.len() - text.len()];
        template.push_str(indent);
        match text {
            _ if text == service => {
                template.push_str(r#"name: {{ include "task-operator.conversion" . }}"#);
            }
            _ if text == namespace => template.push_str("namespace: {{ .Release.Namespace }}"),
            _ if text == excluded => template.push_str("- {{ .Release.Namespace }}"),
            _ => template.push_str(&text.replace("{{", r#"{{ "{{" }}"#)),
        }
        template.push('\n');
        if line == "metadata:" {
            template.push_str(LABELS);
            template.push_str(annotations);
        }
    }
    template
}

/// The manifest that installs the operator with the values of the chart as they are, and the namespace for it. `root` is that of the
/// repository.
///
/// # Errors
/// When Helm is not to be had, or the chart is broken.
pub(crate) fn manifest(root: &Path) -> Result<String, Error> {
    let output = Command::new(Binaries::find_or_build()?.path(Tool::Helm))
        .args(["template", RELEASE, "--namespace", NAMESPACE, "--no-hooks"])
        .arg(root.join(CHART))
        .output()
        .map_err(Error::Run)?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(Error::Render(told));
    }
    let rendered = String::from_utf8_lossy(&output.stdout);
    Ok(format!("{MANIFEST_HEADER}{rendered}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_is_the_release_s_and_what_looks_like_a_template_is_text() {
        let file = "metadata:\n  name: x\nservice:\n    name: task-conversion\n    namespace: task-system\nnot:\n- task-system\ntext: '{{ x }}'\n";
        let expected = "metadata:\n@\n  name: x\nservice:\n    name: {{ include \"task-operator.conversion\" . }}\n    \
            namespace: {{ .Release.Namespace }}\nnot:\n- {{ .Release.Namespace }}\ntext: '{{ \"{{\" }} x }}'\n";
        assert_eq!(template(file, "@\n").replace(LABELS, ""), expected);
    }

    #[test]
    fn the_manifest_s_namespace_is_the_operator_s() {
        let line = format!("\n  name: {NAMESPACE}\n");
        assert!(MANIFEST_HEADER.contains(&line));
    }
}
