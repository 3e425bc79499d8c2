{{/*
What an object must carry for a guard to look at it: (dict "guard" "anchor-guard" "id" "<uid of the hub>"). The conditions of
controller/guard/policy.ts; a test holds them together. Without an id: the mark of any hub.
*/}}
{{- define "knfleet.guardCondition" -}}
{{- if eq .guard "anchor-guard" -}}
{{- $mark := dict "field" "annotations" "key" "operator.knative.dev/hub-id" "id" .id -}}
(object != null && {{ include "knfleet.carries" (merge (dict "which" "object") $mark) }} && 'operator.knative.dev/protected' in object.metadata.annotations) || (oldObject != null && {{ include "knfleet.carries" (merge (dict "which" "oldObject") $mark) }} && 'operator.knative.dev/protected' in oldObject.metadata.annotations)
{{- else if eq .guard "namespace-guard" -}}
{{- $mark := dict "field" "labels" "key" "operator.knative.dev/anchor-namespace" "id" .id -}}
(object != null && {{ include "knfleet.carries" (merge (dict "which" "object") $mark) }}) || (oldObject != null && {{ include "knfleet.carries" (merge (dict "which" "oldObject") $mark) }})
{{- else -}}
{{- $mark := dict "field" "labels" "key" "operator.knative.dev/crd-guard" "id" .id -}}
oldObject != null && {{ include "knfleet.carries" (merge (dict "which" "oldObject") $mark) }}
{{- end -}}
{{- end -}}

{{- define "knfleet.carries" -}}
{{- $fields := printf "%s.metadata.%s" .which .field -}}
has({{ $fields }}) && '{{ .key }}' in {{ $fields }}
{{- if .id }} && {{ $fields }}['{{ .key }}'] == '{{ .id }}'{{ end -}}
{{- end -}}

{{/* The requests that a guard looks at; as in controller/guard/policy.ts. */}}
{{- define "knfleet.guardRule" -}}
{{- if eq . "anchor-guard" -}}
- apiGroups: [""]
  apiVersions: [v1]
  operations: [CREATE, UPDATE, DELETE]
  resources: [configmaps]
  scope: Namespaced
{{- else if eq . "namespace-guard" -}}
- apiGroups: [""]
  apiVersions: [v1]
  operations: [CREATE, UPDATE, DELETE]
  resources: [namespaces, namespaces/finalize, namespaces/status]
  scope: Cluster
{{- else -}}
- apiGroups: [apiextensions.k8s.io]
  apiVersions: [v1]
  operations: [UPDATE, DELETE]
  resources: [customresourcedefinitions, customresourcedefinitions/status]
  scope: Cluster
{{- end -}}
{{- end -}}
