{{/* How plugins come into the controller's pod: ImageVolume or InitContainer. */}}
{{- define "knfleet.pluginDelivery" -}}
{{- $wanted := .Values.multicluster.pluginDelivery -}}
{{- if ne $wanted "Auto" -}}
{{- $wanted -}}
{{- else if semverCompare ">=1.35.0-0" .Capabilities.KubeVersion.Version -}}
ImageVolume
{{- else -}}
InitContainer
{{- end -}}
{{- end -}}

{{/* Folders below which exec plugins have to be; one that does not exist where there are none, so that nothing else can be run. */}}
{{- define "knfleet.pluginRoots" -}}
{{- if .Values.multicluster.plugins -}}
{{- range .Values.multicluster.plugins }}
- --plugin-root={{ clean .mountPath }}
{{- end -}}
{{- else }}
- --plugin-root=/plugins
{{- end -}}
{{- end -}}

{{/* Where plugins have their HOME: not in /tmp, which a plugin that writes logs would fill. In memory the limit of the volume holds while a plugin writes, and no token comes to the disk of a node. */}}
{{- define "knfleet.pluginHomeDir" -}}
/var/lib/knfleet/homes
{{- end -}}

{{/* Refuses what the schema cannot: plugins and commands that do not fit together. */}}
{{- define "knfleet.checkMulticluster" -}}
{{- $multicluster := .Values.multicluster -}}
{{- if and $multicluster.enabled (not $multicluster.accessProvidersConfig) -}}
{{- fail "multicluster.accessProvidersConfig: is required with multicluster.enabled=true" -}}
{{- end -}}
{{- $taken := dict "/app" true "/etc/cluster-inventory" true "/usr/local/bin" true "/var/lib/knfleet" true "/var/run/secrets" true -}}
{{- $roots := dict -}}
{{- $names := dict -}}
{{- range $index, $plugin := $multicluster.plugins -}}
{{- $path := clean $plugin.mountPath -}}
{{- if or (not (isAbs $path)) (has $path (list "/" "/tmp")) -}}
{{- fail (printf "multicluster.plugins[%d].mountPath: must be an absolute path below / and not /tmp (is %q)" $index $plugin.mountPath) -}}
{{- end -}}
{{- if hasKey $names $plugin.name -}}
{{- fail (printf "multicluster.plugins[%d].name: there are two plugins of the name %q" $index $plugin.name) -}}
{{- end -}}
{{- range $other, $_ := merge dict $roots $taken -}}
{{- if or (eq $path $other) (hasPrefix (printf "%s/" $other) $path) (hasPrefix (printf "%s/" $path) $other) -}}
{{- fail (printf "multicluster.plugins[%d].mountPath: %q and %q%s are one in the other" $index $path $other (hasKey $taken $other | ternary ", which is the container's own," "")) -}}
{{- end -}}
{{- end -}}
{{- $_ := set $roots $path true -}}
{{- $_ := set $names $plugin.name true -}}
{{- if and (eq (include "knfleet.pluginDelivery" $) "InitContainer") (not $plugin.path) -}}
{{- fail (printf "multicluster.plugins[%d].path: the file in %s is required where image volumes are missing (Kubernetes before 1.35, or multicluster.pluginDelivery=InitContainer)" $index $plugin.image) -}}
{{- end -}}
{{- end -}}
{{- $providers := default list $multicluster.accessProvidersConfig.providers -}}
{{- if not (kindIs "slice" $providers) -}}
{{- fail "multicluster.accessProvidersConfig.providers: must be a list" -}}
{{- end -}}
{{- if and $multicluster.enabled (not $providers) -}}
{{- fail "multicluster.accessProvidersConfig.providers: must have at least one provider" -}}
{{- end -}}
{{- range $index, $provider := $providers -}}
{{- if not (and (kindIs "map" $provider) (kindIs "map" (get $provider "execConfig"))) -}}
{{- fail (printf "multicluster.accessProvidersConfig.providers[%d]: must be an object with execConfig" $index) -}}
{{- end -}}
{{- $known := list "name" "execConfig" "profileSourcedCLIArgsPolicy" "profileSourcedEnvVarsPolicy" "timeout" "sha256" "maxConcurrency" "systemRoots" "allowInsecure" "allowedNamespaces" "allowedClusterManagers" "allowedServers" "allowedProxies" "allowedConfigKeys" "allowedEnvNames" "requiredConfig" -}}
{{- include "knfleet.checkFields" (dict "path" (printf "multicluster.accessProvidersConfig.providers[%d]" $index) "value" $provider "known" $known) -}}
{{- $known = list "apiVersion" "command" "args" "env" "provideClusterInfo" "installHint" "interactiveMode" -}}
{{- include "knfleet.checkFields" (dict "path" (printf "multicluster.accessProvidersConfig.providers[%d].execConfig" $index) "value" $provider.execConfig "known" $known) -}}
{{- $command := get $provider.execConfig "command" | default "" | toString -}}
{{- if not (hasPrefix "builtin:" $command) -}}
{{- $found := false -}}
{{- range $root, $_ := $roots -}}
{{- if hasPrefix (printf "%s/" $root) (clean $command) -}}{{- $found = true -}}{{- end -}}
{{- end -}}
{{- if not $found -}}
{{- fail (printf "multicluster.accessProvidersConfig.providers[%d].execConfig.command: must be below the mountPath of one of multicluster.plugins, or builtin:secretreader or builtin:kubeconfig-secretreader (is %q)" $index $command) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Fails for a field that is not known: a rule with a typo would rule nothing. Go's readers of the file do not look at the case. */}}
{{- define "knfleet.checkFields" -}}
{{- range $name, $_ := .value -}}
{{- if not (has (lower $name) ($.known | join " " | lower | splitList " ")) -}}
{{- fail (printf "%s.%s: is no field of a provider; it has %s" $.path $name ($.known | join ", ")) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "knfleet.pluginVolumes" -}}
{{- if .Values.multicluster.plugins }}
- name: plugin-homes
  emptyDir:
    medium: Memory
    sizeLimit: 32Mi
{{- end }}
{{- if eq (include "knfleet.pluginDelivery" .) "ImageVolume" }}
{{- range .Values.multicluster.plugins }}
- name: {{ printf "plugin-%s" .name }}
  image:
    reference: {{ .image }}
    pullPolicy: {{ default "IfNotPresent" .pullPolicy }}
{{- end }}
{{- else if .Values.multicluster.plugins }}
- name: plugins
  emptyDir:
    sizeLimit: {{ printf "%dMi" (mul 256 (len .Values.multicluster.plugins)) }}
{{- end }}
{{- end -}}

{{- define "knfleet.pluginMounts" -}}
{{- if .Values.multicluster.plugins }}
- name: plugin-homes
  mountPath: {{ include "knfleet.pluginHomeDir" . }}
{{- end }}
{{- $delivery := include "knfleet.pluginDelivery" . -}}
{{- range .Values.multicluster.plugins }}
- name: {{ if eq $delivery "ImageVolume" }}{{ printf "plugin-%s" .name }}{{ else }}plugins{{ end }}
  mountPath: {{ clean .mountPath }}
  readOnly: true
  {{- if ne $delivery "ImageVolume" }}
  subPath: {{ .name }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* Copies each plugin to where its image would be mounted; the plugin's image has to have a shell and cp for that. */}}
{{- define "knfleet.pluginCopies" -}}
{{- range .Values.multicluster.plugins }}
- name: {{ printf "copy-%s" .name }}
  image: {{ .image }}
  imagePullPolicy: {{ default "IfNotPresent" .pullPolicy }}
  command:
    - sh
    - -ceu
    # A folder that others cannot write to: the controller runs no plugin that everybody may replace.
    - umask 022; mkdir -p "/copied/$1/$(dirname "$2")"; cp "$2" "/copied/$1/$2"
    - copy
    - {{ .name }}
    - {{ clean (printf "/%s" .path) }}
  securityContext:
    {{- toYaml $.Values.securityContext | nindent 4 }}
  resources:
    requests: { cpu: 10m, memory: 32Mi }
    limits: { memory: 128Mi }
  volumeMounts:
    - name: plugins
      mountPath: /copied
{{- end }}
{{- end -}}
