{{/*
What the names of this release's objects begin with: nothing where the release is called as the chart is, so that they are
task-conversion and task-controller.
*/}}
{{- define "task-operator.prefix" -}}
{{- if regexMatch "^[0-9]" .Release.Name }}{{ fail "the release's name must begin with a letter: the names of Services do" }}{{ end -}}
{{- if ne .Release.Name "task-operator" -}}{{ .Release.Name | replace "." "-" | trunc 39 | trimSuffix "-" }}-{{- end -}}
{{- end -}}

{{- define "task-operator.conversion" -}}
{{ include "task-operator.prefix" . }}task-conversion
{{- end -}}

{{- define "task-operator.controller" -}}
{{ include "task-operator.prefix" . }}task-controller
{{- end -}}

{{/* The Secret that task-conversion has mounted, and that of the self-managed authority. */}}
{{- define "task-operator.servingSecret" -}}
{{ include "task-operator.conversion" . }}-tls
{{- end -}}

{{- define "task-operator.authoritySecret" -}}
{{ include "task-operator.conversion" . }}-ca
{{- end -}}

{{- define "task-operator.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- with .Values.image.digest }}@{{ . }}{{ end }}
{{- end -}}

{{- define "task-operator.labels" -}}
app.kubernetes.io/part-of: task-operator
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{/* The labels that select the Pods of a component. They never change: a Deployment's selector cannot. */}}
{{- define "task-operator.conversionSelector" -}}
app.kubernetes.io/name: task-conversion
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "task-operator.controllerSelector" -}}
app.kubernetes.io/name: task-controller
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* The labels of every object of a component. */}}
{{- define "task-operator.conversionLabels" -}}
{{ include "task-operator.conversionSelector" . }}
{{ include "task-operator.labels" . }}
{{- end -}}

{{- define "task-operator.controllerLabels" -}}
{{ include "task-operator.controllerSelector" . }}
{{ include "task-operator.labels" . }}
{{- end -}}

{{/* What has cert-manager fill in a caBundle. Nothing of that is rendered where the controller does. */}}
{{- define "task-operator.inject" -}}
{{- if eq .Values.certificates.mode "cert-manager" -}}
cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/{{ include "task-operator.prefix" . }}task-operator-cert
{{- end -}}
{{- end -}}

{{/* The annotations of the CustomResourceDefinition: `helm uninstall` does not delete all Tasks. */}}
{{- define "task-operator.crdAnnotations" -}}
helm.sh/resource-policy: keep
{{- with include "task-operator.inject" . }}
{{ . }}
{{- end }}
{{- end -}}

{{/* What the Pod Security Standard `restricted` asks of a Pod, and of a container. */}}
{{- define "task-operator.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "task-operator.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* Keeps the Pods apart that these labels select. */}}
{{- define "task-operator.spread" -}}
{{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
- maxSkew: 1
  topologyKey: {{ . }}
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- $ | nindent 6 }}
  matchLabelKeys: [pod-template-hash]
{{- end }}
{{- end -}}

{{/* Where Pods run, as the values of a component say. */}}
{{- define "task-operator.scheduling" -}}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
