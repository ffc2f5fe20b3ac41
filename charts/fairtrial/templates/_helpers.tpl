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

{{/* The store, told alike to the three parts that may touch it. */}}
{{- define "fairtrial.storeEnv" -}}
- { name: FAIRTRIAL_S3_ENDPOINT, value: {{ .Values.store.endpoint | quote }} }
- { name: FAIRTRIAL_S3_BUCKET, value: {{ .Values.store.bucket | quote }} }
- { name: FAIRTRIAL_S3_PREFIX, value: {{ .Values.store.prefix | quote }} }
- { name: FAIRTRIAL_S3_REGION, value: {{ .Values.store.region | quote }} }
- { name: FAIRTRIAL_S3_OBJECT_LOCK_DAYS, value: {{ .Values.store.objectLockDays | quote }} }
- name: AWS_ACCESS_KEY_ID
  valueFrom: { secretKeyRef: { name: {{ .Values.store.existingSecret }}, key: accessKeyId } }
- name: AWS_SECRET_ACCESS_KEY
  valueFrom: { secretKeyRef: { name: {{ .Values.store.existingSecret }}, key: secretAccessKey } }
{{- end }}
