{{/* What ClusterProfiles are written from, for the controller. */}}
{{- define "knfleet.discoveryArgs" -}}
{{- with .Values.discovery }}
{{- if .producers }}
- --discover={{ join "," .producers }}
- --discover-namespace={{ .namespace }}
{{- range .sourceNamespaces }}
- --discover-source-namespace={{ . }}
{{- end }}
- {{ printf "--discover-selector=%s" .selector | quote }}
- --discover-kubeconfig-label={{ .kubeconfigLabel }}
- --discover-kubeconfig-key={{ .kubeconfigKey }}
{{- end }}
{{- end }}
{{- end -}}
