{{- define "fairtrial.labels" -}}
app.kubernetes.io/name: fairtrial
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "fairtrial.selector" -}}
app.kubernetes.io/name: fairtrial
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Everything that Pod Security `restricted` asks of a pod, and a user that is not root. */}}
{{- define "fairtrial.podSecurity" -}}
automountServiceAccountToken: true
# Variables that the kubelet makes for Services, such as FAIRTRIAL_GATEWAY_PORT, look like settings of ours.
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.images.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "fairtrial.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{/* The store, told alike to the three parts that may touch it; each by its own account where it has one. */}}
{{- define "fairtrial.storeEnv" -}}
{{- $store := (index . 0).Values.store -}}
{{- $secret := get $store.secrets (index . 1) | default $store.existingSecret -}}
- { name: FAIRTRIAL_S3_ENDPOINT, value: {{ $store.endpoint | quote }} }
- { name: FAIRTRIAL_S3_BUCKET, value: {{ $store.bucket | quote }} }
- { name: FAIRTRIAL_S3_PREFIX, value: {{ $store.prefix | quote }} }
- { name: FAIRTRIAL_S3_REGION, value: {{ $store.region | quote }} }
- { name: FAIRTRIAL_S3_OBJECT_LOCK_DAYS, value: {{ $store.objectLockDays | quote }} }
- name: AWS_ACCESS_KEY_ID
  valueFrom: { secretKeyRef: { name: {{ $secret }}, key: accessKeyId } }
- name: AWS_SECRET_ACCESS_KEY
  valueFrom: { secretKeyRef: { name: {{ $secret }}, key: secretAccessKey } }
{{- end }}

{{/* A part's signing key: `include "fairtrial.signingEnv" (list . "operator")`; nothing where it has none. */}}
{{- define "fairtrial.signingEnv" -}}
{{- $root := index . 0 }}
{{- $key := get $root.Values.signing (index . 1) }}
{{- if $key.uri }}
- { name: FAIRTRIAL_SIGNING_KEY, value: {{ $key.uri | quote }} }
{{- if $key.existingSecret }}
- name: FAIRTRIAL_SIGNING_PIN
  valueFrom: { secretKeyRef: { name: {{ $key.existingSecret }}, key: pin } }
{{- end }}
{{- else if $key.existingSecret }}
- { name: FAIRTRIAL_SIGNING_KEY, value: "file:/etc/fairtrial/signing/{{ $key.key }}" }
{{- end }}
{{- if or $key.uri $key.existingSecret }}
- { name: FAIRTRIAL_SIGNING_DEVELOPMENT, value: {{ $root.Values.signing.development | quote }} }
{{- if and $root.Values.signing.timestampUrl (ne (index . 1) "evaluator") }}
- { name: FAIRTRIAL_TIMESTAMP_URL, value: {{ $root.Values.signing.timestampUrl | quote }} }
{{- end }}
{{- end }}
{{- end }}

{{/* The Secret that a signing key is read from, as a volume. A Job that lacks it says so, instead of never starting. */}}
{{- define "fairtrial.signingVolume" -}}
{{- $key := get (index . 0).Values.signing (index . 1) }}
{{- if and $key.existingSecret (not $key.uri) }}
- { name: signing, secret: { secretName: {{ $key.existingSecret }}, defaultMode: 0440{{ if eq (index . 1) "analysis" }}, optional: true{{ end }}, items: [{ key: {{ $key.key }}, path: {{ $key.key }} }] } }
{{- end }}
{{- end }}

{{- define "fairtrial.signingMount" -}}
{{- $key := get (index . 0).Values.signing (index . 1) }}
{{- if and $key.existingSecret (not $key.uri) }}
- { name: signing, mountPath: /etc/fairtrial/signing, readOnly: true }
{{- end }}
{{- end }}
