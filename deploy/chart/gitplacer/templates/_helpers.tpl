{{- /* What several templates share. Each takes a dict: root ($), and component. */ -}}

{{- define "gitplacer.selector" -}}
app.kubernetes.io/name: gitplacer
app.kubernetes.io/instance: {{ .root.Values.name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "gitplacer.labels" -}}
{{ include "gitplacer.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
{{- end }}

{{- define "gitplacer.image" -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag }}{{ end }}
{{- end }}

{{- define "gitplacer.pod" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532               # so that the files of Secrets can be read by the group, and by nobody else
  seccompProfile: {type: RuntimeDefault}
shareProcessNamespace: true    # pause then takes in what git leaves behind when it is ended
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
- name: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{- define "gitplacer.container" -}}
image: {{ include "gitplacer.image" (dict "repository" .root.Values.image.repository "digest" .root.Values.image.digest "tag" (.root.Values.image.tag | default .root.Chart.AppVersion)) }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{- define "gitplacer.credentials.env" -}}
{{- if .Values.credentials.secrets }}
- {name: GITPLACER_CREDENTIALS, value: /etc/gitplacer/credentials/{{ .Values.credentials.file }}}
{{- end }}
{{- if .Values.credentials.signingKey }}
- {name: GITPLACER_SIGNING_KEY, value: /etc/gitplacer/credentials/{{ .Values.credentials.signingKey }}}
{{- end }}
{{- if .Values.author }}
- {name: GITPLACER_AUTHOR, value: {{ .Values.author | quote }}}
{{- end }}
{{- end }}

{{- define "gitplacer.mounts" -}}
- {name: cache, mountPath: /cache}
- {name: tmp, mountPath: /tmp}
{{- if .Values.credentials.secrets }}
- {name: credentials, mountPath: /etc/gitplacer/credentials, readOnly: true}
{{- end }}
{{- end }}

{{- define "gitplacer.volumes" -}}
- name: tmp
  emptyDir: {sizeLimit: 1Gi}
{{- if .Values.credentials.secrets }}
- name: credentials
  projected:
    defaultMode: 288   # 0440: gitplacer refuses secrets that everybody can read
    sources:
    {{- range .Values.credentials.secrets }}
    - secret: {name: {{ . }}}
    {{- end }}
{{- end }}
{{- end }}

{{- define "gitplacer.scheduling" -}}
{{- with .nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- with .affinity }}
affinity: {{ toJson . }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}

{{- define "gitplacer.egress" -}}
- ports:
  - {protocol: UDP, port: 53}
  - {protocol: TCP, port: 53}
- ports:
  {{- range .Values.networkPolicy.egressPorts }}
  - {protocol: TCP, port: {{ . }}}
  {{- end }}
{{- end }}
