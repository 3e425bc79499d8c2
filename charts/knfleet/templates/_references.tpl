{{/* Who may use which ClusterProfile, for both programs. */}}
{{- define "knfleet.referenceArgs" -}}
- --reference-mode={{ .Values.references.mode }}
{{- if eq .Values.references.mode "Granted" }}
- --reference-grants=/etc/knfleet/references/grants.json
{{- end }}
{{- range .Values.references.trustedInventoryNamespaces }}
- --trusted-inventory-namespace={{ . }}
{{- end }}
{{- range .Values.references.trustedClusterManagers }}
- --trusted-cluster-manager={{ . }}
{{- end }}
{{- end -}}

{{/* The grants are mounted as a folder, or the kubelet would not follow them. */}}
{{- define "knfleet.referenceMounts" -}}
{{- if and (eq .Values.references.mode "Granted") (not .Values.guard.only) -}}
- name: references
  mountPath: /etc/knfleet/references
  readOnly: true
{{- end -}}
{{- end -}}

{{- define "knfleet.referenceVolumes" -}}
{{- if and (eq .Values.references.mode "Granted") (not .Values.guard.only) -}}
- name: references
  configMap:
    name: {{ include "knfleet.fullname" . }}-references
{{- end -}}
{{- end -}}
