{{/* Release files in place of those of the image, for both programs. */}}
{{- define "knfleet.releaseArgs" -}}
{{- with .Values.releaseFiles -}}
{{- if .volume -}}
- {{ printf "--release-dir=%s" (clean (printf "/var/lib/knfleet/releases/%s" .folder)) | quote }}
{{- else if .folder -}}
{{- if not (isAbs .folder) -}}
{{- fail (printf "releaseFiles.folder: must be an absolute path of the image without releaseFiles.volume (is %q)" .folder) -}}
{{- end -}}
- {{ printf "--release-dir=%s" .folder | quote }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Hides the folder of the image. */}}
{{- define "knfleet.releaseMounts" -}}
{{- if .Values.releaseFiles.volume -}}
- name: releases
  mountPath: /var/lib/knfleet/releases
  readOnly: true
{{- end -}}
{{- end -}}

{{- define "knfleet.releaseVolumes" -}}
{{- with .Values.releaseFiles.volume -}}
- name: releases
  {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}
