{{/* The name of everything: that of the release, with kconnect before it. Alerts look for jobs whose names begin so. */}}
{{- define "kconnect.name" -}}
{{- $prefix := hasPrefix "kconnect" .Release.Name | ternary "" "kconnect-" -}}
{{- /* Helm takes dots in a release's name, and Kubernetes none in a service's. */}}
{{- printf "%s%s" $prefix (.Release.Name | replace "." "-") | trunc 40 | trimAll "-" -}}
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

{{/* Neither a service nor a budget of the workers counts an executor's pod. */}}
{{- define "kconnect.executorSelector" -}}
app.kubernetes.io/name: kconnect-executor
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "kconnect.labels" -}}
{{ include "kconnect.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "kconnect.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "kconnect.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* The folders of a pod that runs connectors: to write to, with plugins and with secrets. */}}
{{- define "kconnect.mounts" -}}
- {name: tmp, mountPath: /tmp}
- {name: files, mountPath: /files}
{{- if .Values.plugins.images }}
- {name: plugins, mountPath: /plugins, readOnly: true}
{{- end }}
{{- range $number, $secret := .Values.secrets }}
- {name: secret-{{ $number }}, mountPath: {{ printf "/run/secrets/kconnect/%s" $secret | quote }}, readOnly: true}
{{- end }}
{{- range $number, $secret := .Values.workerSecrets }}
- {name: worker-secret-{{ $number }}, mountPath: {{ printf "/run/secrets/kconnect-worker/%s" $secret | quote }}, readOnly: true}
{{- end }}
{{- end }}

{{- define "kconnect.volumes" -}}
- name: tmp
  emptyDir: {sizeLimit: {{ .Values.tmp.sizeLimit }}}
- name: files
  emptyDir: {sizeLimit: {{ .Values.tmp.sizeLimit }}}
{{- if .Values.plugins.images }}
- name: plugins
  emptyDir: {}
{{- end }}
{{- range $number, $secret := .Values.secrets }}
- name: secret-{{ $number }}
  secret: {secretName: {{ $secret | quote }}, defaultMode: 0440}
{{- end }}
{{- range $number, $secret := .Values.workerSecrets }}
- name: worker-secret-{{ $number }}
  secret: {secretName: {{ $secret | quote }}, defaultMode: 0440}
{{- end }}
{{- end }}

{{- define "kconnect.pluginContainers" -}}
{{- range $number, $plugin := .Values.plugins.images }}
- name: plugins-{{ $number }}
  image: {{ $plugin.image | quote }}
  # Not to /plugins: an image that has its plugins there would not see them.
  command: [sh, -c, 'cp -R "$0"/. /kconnect-plugins/', {{ $plugin.path | quote }}]
  securityContext: {{- include "kconnect.containerSecurity" $ | nindent 4 }}
  volumeMounts:
    - {name: plugins, mountPath: /kconnect-plugins}
{{- end }}
{{- end }}

{{/* Where pods may run. */}}
{{- define "kconnect.placement" -}}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The pod of an executor, by which Spark makes each: what it does not say, as image and memory, comes from the worker file. */}}
{{- define "kconnect.executor" -}}
apiVersion: v1
kind: Pod
metadata:
  labels:
    {{- include "kconnect.executorSelector" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.podAnnotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext: {{- include "kconnect.podSecurity" . | nindent 4 }}
  {{- with include "kconnect.placement" . | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- if .Values.plugins.images }}
  initContainers: {{- include "kconnect.pluginContainers" . | trim | nindent 4 }}
  {{- end }}
  containers:
    - name: executor
      command: [tini, --, python, -m, kconnect.host.pod]
      securityContext: {{- include "kconnect.containerSecurity" . | nindent 8 }}
      volumeMounts: {{- include "kconnect.mounts" . | nindent 8 }}
  volumes: {{- include "kconnect.volumes" . | nindent 4 }}
{{- end }}

{{/*
The worker file. What the values set comes first; the pod's own name is in its variables. Connectors have a folder of their own for
files: in /tmp are jars that the JVMs of the worker load.
*/}}
{{- define "kconnect.worker" -}}
{{- $name := include "kconnect.name" . -}}
{{- $port := .Values.service.port | int -}}
{{- if and .Values.executors.enabled (has $port (list 7078 7079)) }}
{{- fail (printf "service.port: executors reach Spark's driver on the ports 7078 and 7079: take another one than %d" $port) }}
{{- end }}
{{- with .Values.worker.listeners }}
{{- if not (regexMatch (printf "(^|,)\\s*http://[^,]*:%d\\s*(,|$)" $port) .) }}
{{- fail (printf "worker: Kubernetes' probes and the service ask by http on the port %d (service.port): let listeners have http://:%d among them" $port $port) }}
{{- end }}
{{- end }}
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
{{- if .Values.executors.enabled }}
{{- $own = merge $own (dict
  "spark.master" "k8s://https://kubernetes.default.svc"
  "spark.authenticate" "true"
  "spark.driver.bindAddress" "0.0.0.0"
  "spark.driver.port" "7078"
  "spark.blockManager.port" "7079"
  "spark.executor.instances" (.Values.executors.count | int | toString)
  "task.hosts" (sub (.Values.executors.count | int) 2 | toString)
  "spark.executor.cores" "1"
  "spark.executor.memoryOverhead" .Values.executors.memory
  "spark.kubernetes.executor.request.cores" .Values.executors.cores
  "spark.kubernetes.driver.ownPersistentVolumeClaim" "false"
  "spark.kubernetes.driver.reusePersistentVolumeClaim" "false"
  "spark.kubernetes.driver.service.deleteOnTermination" "false"
  "spark.kubernetes.namespace" .Release.Namespace
  "spark.kubernetes.container.image" (printf "%s:%s" .Values.image.repository .Values.image.tag)
  "spark.kubernetes.container.image.pullPolicy" .Values.image.pullPolicy
  "spark.kubernetes.authenticate.executor.serviceAccountName" (printf "%s-executors" $name)
  "spark.kubernetes.executor.podTemplateFile" "/etc/kconnect/executor.yaml"
) }}
{{- end }}
{{- if .Values.plugins.images }}
{{- $own = merge $own (dict "plugin.path" "/plugins") }}
{{- end }}
{{- range $key, $value := merge (deepCopy .Values.worker) $own }}
{{- /* Blanks before a value are nothing to a reader of such files, and helm cuts those at the end of a text. */}}
{{- $escaped := regexReplaceAll `^([ \t\f])` ($value | replace "\\" "\\\\") `\${1}` }}
{{ $key }}={{ regexReplaceAll " $" $escaped `\u0020` }}
{{- end }}
{{- end }}
