{{/* The name of everything: that of the release, with kconnect before it. Alerts look for jobs whose names begin so. */}}
{{- define "kconnect.name" -}}
{{- $prefix := hasPrefix "kconnect" .Release.Name | ternary "" "kconnect-" -}}
{{- printf "%s%s" $prefix .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{- define "kconnect.selector" -}}
app.kubernetes.io/name: kconnect
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Another name than the workers': a service or a budget of theirs must not count the operator's pod. */}}
{{- define "kconnect.operatorSelector" -}}
app.kubernetes.io/name: kconnect-operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "kconnect.operatorLabels" -}}
{{ include "kconnect.operatorSelector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "kconnect.labels" -}}
{{ include "kconnect.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/*
The worker file. What the values set comes first; the pod's own name is in its variables. Connectors have a folder of their own for
files: in /tmp are jars that the JVMs of the worker load.
*/}}
{{- define "kconnect.worker" -}}
{{- $name := include "kconnect.name" . -}}
{{- $port := .Values.service.port | int -}}
{{- $own := dict
  "bootstrap.servers" (required "bootstrapServers: name Kafka's brokers, such as kafka:9092" .Values.bootstrapServers)
  "group.id" $name
  "config.storage.topic" (printf "%s-configs" $name)
  "offset.storage.topic" (printf "%s-offsets" $name)
  "status.storage.topic" (printf "%s-status" $name)
  "key.converter" "org.apache.kafka.connect.json.JsonConverter"
  "value.converter" "org.apache.kafka.connect.json.JsonConverter"
  "listeners" (printf "http://:%d" $port)
  "connector.files.allowed.paths" (.Values.secrets | empty | ternary "/files" "/files,/run/secrets/kconnect")
-}}
{{- /* Connectors have this one, too: what the worker itself logs in with is in variables, or in workerSecrets. */}}
{{- if .Values.secrets }}
{{- $own = merge $own (dict
  "config.providers" "secret"
  "config.providers.secret.class" "org.apache.kafka.common.config.provider.DirectoryConfigProvider"
  "config.providers.secret.param.allowed.paths" "/run/secrets/kconnect"
) }}
{{- end }}
{{- if .Values.plugins.images }}
{{- $own = merge $own (dict "plugin.path" "/plugins") }}
{{- end }}
{{- range $key, $value := merge (deepCopy .Values.worker) $own }}
{{ $key }}={{ $value | replace "\\" "\\\\" }}
{{- end }}
{{- end }}
