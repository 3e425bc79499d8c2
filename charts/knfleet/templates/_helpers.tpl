{{- define "knfleet.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- /* A release may have dots in its name, a Service may not. */ -}}
{{- $release := .Release.Name | replace "." "-" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name $release -}}
{{- $release | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" $release $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Names of both programs, of their ServiceAccounts, Deployments and roles. */}}
{{- define "knfleet.controller" -}}{{ include "knfleet.fullname" . }}-controller{{- end -}}
{{- define "knfleet.webhook" -}}{{ include "knfleet.fullname" . }}-webhook{{- end -}}

{{/* On a spoke that is only guarded there is no controller. */}}
{{- define "knfleet.hasController" -}}
{{- if and .Values.controller.enabled (not .Values.guard.only) }}true{{ end -}}
{{- end -}}
{{- define "knfleet.hasWebhook" -}}
{{- if or .Values.webhook.enabled .Values.guard.only }}true{{ end -}}
{{- end -}}
{{- define "knfleet.hasGuard" -}}
{{- if or .Values.guard.only .Values.guard.hubs .Values.guard.controllerUser }}true{{ end -}}
{{- end -}}

{{- define "knfleet.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_") | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: knfleet
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Labels by which the pods of a program are found: (dict "root" $ "program" "controller"). */}}
{{- define "knfleet.selector" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride | trunc 63 }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .program }}
{{- end -}}

{{- define "knfleet.metadataLabels" -}}
{{ include "knfleet.selector" . }}
{{ include "knfleet.labels" .root }}
{{- end -}}

{{/* Labels or annotations with more of them, which win: (dict "base" "<YAML>" "more" .Values.commonLabels). */}}
{{- define "knfleet.joined" -}}
{{- merge dict (default dict .more) (fromYaml .base) | toYaml -}}
{{- end -}}

{{- define "knfleet.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ default .Chart.AppVersion $image.tag }}
{{- end -}}
{{- end -}}

{{/* A program of the image, with what the image would start it with. Node's debugger signal and __proto__ are off: the process holds the credentials of every spoke. */}}
{{- define "knfleet.command" -}}
- /usr/local/bin/node
- --max-semi-space-size=2
- --heap-growing-percent=20
- --no-sparkplug
- --disable-sigusr1
- --disable-proto=delete
- /app/knfleet-{{ .program }}.js
{{- end -}}

{{- define "knfleet.manifestSources" -}}
{{- range .Values.manifestSources }}
- --manifest-source={{ . }}
{{- end }}
{{- end -}}

{{- define "knfleet.checkSources" -}}
{{- range .Values.checkSources }}
- --check-source={{ . }}
{{- end }}
{{- end -}}

{{- define "knfleet.logArgs" -}}
- --log-level={{ .Values.log.level }}
- --log-format={{ .Values.log.format }}
{{- end -}}

{{- define "knfleet.env" -}}
- name: POD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
{{- with .root.Values.kubernetesMinVersion }}
- name: KUBERNETES_MIN_VERSION
  value: {{ . | quote }}
{{- end }}
{{- with .values.env }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* What the pods of both programs have in common: (dict "root" $ "program" "controller" "values" .Values.controller). */}}
{{- define "knfleet.podMetadata" -}}
{{- $annotations := printf "kubectl.kubernetes.io/default-container: %s" .program -}}
labels:
  {{- include "knfleet.joined" (dict "base" (include "knfleet.metadataLabels" .) "more" .values.podLabels) | nindent 2 }}
annotations:
  {{- include "knfleet.joined" (dict "base" $annotations "more" .values.podAnnotations) | nindent 2 }}
{{- end -}}

{{- define "knfleet.podPlacement" -}}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
affinity:
  {{- if .values.affinity }}
  {{- toYaml .values.affinity | nindent 2 }}
  {{- else }}
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels:
              {{- include "knfleet.selector" . | nindent 14 }}
  {{- end }}
topologySpreadConstraints:
  {{- if .values.topologySpreadConstraints }}
  {{- toYaml .values.topologySpreadConstraints | nindent 2 }}
  {{- else }}
  {{- $context := . }}
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "knfleet.selector" $context | nindent 8 }}
  {{- end }}
  {{- end }}
{{- end -}}

{{- define "knfleet.probes" -}}
startupProbe:
  httpGet: { path: /healthz, port: health }
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: { path: /healthz, port: health }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: { path: /readyz, port: health }
  periodSeconds: 5
  timeoutSeconds: 3
{{- end -}}

{{/* Scratch space, the only place of the container that can be written to. */}}
{{- define "knfleet.scratch" -}}
- name: tmp
  emptyDir:
    sizeLimit: 64Mi
{{- end -}}
