import { PatchProblem } from "./patch.ts";

/** How a strategic merge patch treats a field that is a map or a list. */
export type MergeRule =
  /** The fields of a map are merged one by one; `type` names those that are maps and lists themselves. */
  | { readonly kind: "map"; readonly type: string }
  /** The patch's value takes the place of the other one. */
  | { readonly kind: "atomic" }
  /** Items with the same value of `key` are merged. */
  | { readonly kind: "items"; readonly type: string; readonly key: string }
  /** A list of texts without repetition. */
  | { readonly kind: "union" };

const kindsOf: Readonly<Record<string, string>> = {
  v1: "ConfigMap Endpoints LimitRange Namespace PersistentVolumeClaim Pod ResourceQuota Secret Service ServiceAccount",
  "admissionregistration.k8s.io/v1":
    "MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration",
  "apps/v1": "DaemonSet Deployment ReplicaSet StatefulSet",
  "autoscaling/v1": "HorizontalPodAutoscaler=HorizontalPodAutoscalerV1",
  "autoscaling/v2": "HorizontalPodAutoscaler",
  "batch/v1": "CronJob Job",
  // Upstream's operator knows this kind of Knative's as well.
  "caching.internal.knative.dev/v1alpha1": "Image",
  "coordination.k8s.io/v1": "Lease",
  "discovery.k8s.io/v1": "EndpointSlice",
  "networking.k8s.io/v1": "Ingress IngressClass NetworkPolicy",
  "node.k8s.io/v1": "RuntimeClass",
  "policy/v1": "PodDisruptionBudget",
  "rbac.authorization.k8s.io/v1": "ClusterRole ClusterRoleBinding Role RoleBinding",
  "scheduling.k8s.io/v1": "PriorityClass",
  "storage.k8s.io/v1": "StorageClass",
};

/** The type of a kind; undefined for one that strategic merge patches are not known for. */
export function mergeTypeOf(apiVersion: string, kind: string): string | undefined {
  const kinds = Object.hasOwn(kindsOf, apiVersion) ? (kindsOf[apiVersion] ?? "") : "";
  const entry = kinds.split(" ").find((one) => one.split("=")[0] === kind);
  return entry?.split("=").at(-1);
}

/** All apiVersions with their kinds that have a type. */
export function mergeKinds(): readonly (readonly [apiVersion: string, kind: string])[] {
  return Object.entries(kindsOf).flatMap(([apiVersion, kinds]) =>
    kinds.split(" ").map((entry) => [apiVersion, entry.split("=")[0] ?? ""] as const),
  );
}

/** How a field of a type is merged. Throws PatchProblem for a field that the type does not have as a map or a list. */
export function mergeRule(type: string, field: string): MergeRule {
  const rule = rules.get(type)?.get(field);
  if (rule !== undefined) return rule;
  throw new PatchProblem(
    `apply strategic merge patch: unable to find api field in struct ${type} for the json field ${JSON.stringify(field)}`,
  );
}

// One type of Kubernetes a line: its fields that are maps or lists, without `status`. `list` is replaced as a whole, and so is `atomic`, which is no list;
// `union` is a list of texts; `Type[key]` is a list whose items are merged by a key; `map` and `leaf` have no maps or lists inside.
// test/render/patches/merge-schema.fleet.test.ts compares it with what an API server publishes.
const table = `
Affinity: nodeAffinity=NodeAffinity podAffinity=PodAffinity podAntiAffinity=PodAntiAffinity
AggregationRule: clusterRoleSelectors=list
CSIVolumeSource: nodePublishSecretRef=leaf volumeAttributes=map
Capabilities: add,drop=list
CephFSVolumeSource: monitors=list secretRef=leaf
CinderVolumeSource: secretRef=leaf
ClusterRole: aggregationRule=AggregationRule metadata=ObjectMeta rules=list
ClusterRoleBinding: metadata=ObjectMeta roleRef=leaf subjects=list
ConfigMap: binaryData,data=map metadata=ObjectMeta
ConfigMapVolumeSource: items=list
Container: args,command,envFrom,resizePolicy,restartPolicyRules=list env=EnvVar[name] lifecycle=Lifecycle livenessProbe,readinessProbe,startupProbe=Probe ports=leaf[containerPort] resources=ResourceRequirements securityContext=SecurityContext volumeDevices=leaf[devicePath] volumeMounts=leaf[mountPath]
CronJob: metadata=ObjectMeta spec=CronJobSpec
CronJobSpec: jobTemplate=JobTemplateSpec
DaemonSet: metadata=ObjectMeta spec=DaemonSetSpec
DaemonSetSpec: selector=LabelSelector template=PodTemplateSpec updateStrategy=DaemonSetUpdateStrategy
DaemonSetUpdateStrategy: rollingUpdate=leaf
Deployment: metadata=ObjectMeta spec=DeploymentSpec
DeploymentSpec: selector=LabelSelector strategy=DeploymentStrategy template=PodTemplateSpec
DeploymentStrategy: rollingUpdate=leaf
DownwardAPIVolumeSource: items=list
EndpointSlice: endpoints,ports=list metadata=ObjectMeta
Endpoints: metadata=ObjectMeta subsets=list
EnvVar: valueFrom=EnvVarSource
EnvVarSource: configMapKeyRef,fieldRef,fileKeyRef,resourceFieldRef,secretKeyRef=leaf
EphemeralContainer: args,command,envFrom,resizePolicy,restartPolicyRules=list env=EnvVar[name] lifecycle=Lifecycle livenessProbe,readinessProbe,startupProbe=Probe ports=leaf[containerPort] resources=ResourceRequirements securityContext=SecurityContext volumeDevices=leaf[devicePath] volumeMounts=leaf[mountPath]
EphemeralVolumeSource: volumeClaimTemplate=PersistentVolumeClaimTemplate
ExecAction: command=list
FCVolumeSource: targetWWNs,wwids=list
FlexVolumeSource: options=map secretRef=leaf
HPAScalingRules: policies=list
HTTPGetAction: httpHeaders=list
HorizontalPodAutoscaler: metadata=ObjectMeta spec=HorizontalPodAutoscalerSpec
HorizontalPodAutoscalerBehavior: scaleDown,scaleUp=HPAScalingRules
HorizontalPodAutoscalerSpec: behavior=HorizontalPodAutoscalerBehavior metrics=list scaleTargetRef=leaf
HorizontalPodAutoscalerSpecV1: scaleTargetRef=leaf
HorizontalPodAutoscalerV1: metadata=ObjectMeta spec=HorizontalPodAutoscalerSpecV1
HostAlias: hostnames=list
ISCSIVolumeSource: portals=list secretRef=leaf
Image: metadata=ObjectMeta spec=ImageSpec
ImageSpec: imagePullSecrets=list
Ingress: metadata=ObjectMeta spec=IngressSpec
IngressBackend: resource=leaf service=IngressServiceBackend
IngressClass: metadata=ObjectMeta spec=IngressClassSpec
IngressClassSpec: parameters=leaf
IngressServiceBackend: port=leaf
IngressSpec: defaultBackend=IngressBackend rules,tls=list
Job: metadata=ObjectMeta spec=JobSpec
JobSpec: podFailurePolicy=PodFailurePolicy selector=LabelSelector successPolicy=SuccessPolicy template=PodTemplateSpec
JobTemplateSpec: metadata=ObjectMeta spec=JobSpec
LabelSelector: matchExpressions=list matchLabels=map
Lease: metadata=ObjectMeta spec=leaf
Lifecycle: postStart,preStop=LifecycleHandler
LifecycleHandler: exec=ExecAction httpGet=HTTPGetAction sleep,tcpSocket=leaf
LimitRange: metadata=ObjectMeta spec=LimitRangeSpec
LimitRangeSpec: limits=list
MatchResources: excludeResourceRules,resourceRules=list namespaceSelector,objectSelector=LabelSelector
MutatingWebhook: admissionReviewVersions,rules=list clientConfig=WebhookClientConfig matchConditions=leaf[name] namespaceSelector,objectSelector=LabelSelector
MutatingWebhookConfiguration: metadata=ObjectMeta webhooks=MutatingWebhook[name]
Namespace: metadata=ObjectMeta spec=NamespaceSpec
NamespaceSpec: finalizers=list
NetworkPolicy: metadata=ObjectMeta spec=NetworkPolicySpec
NetworkPolicySpec: egress,ingress,policyTypes=list podSelector=LabelSelector
NodeAffinity: preferredDuringSchedulingIgnoredDuringExecution=list requiredDuringSchedulingIgnoredDuringExecution=NodeSelector
NodeSelector: nodeSelectorTerms=list
ObjectMeta: annotations,labels=map finalizers=union ownerReferences=leaf[uid]
Overhead: podFixed=map
ParamRef: selector=LabelSelector
PersistentVolumeClaim: metadata=ObjectMeta spec=PersistentVolumeClaimSpec
PersistentVolumeClaimSpec: accessModes=list dataSource,dataSourceRef=leaf resources=VolumeResourceRequirements selector=LabelSelector
PersistentVolumeClaimTemplate: metadata=ObjectMeta spec=PersistentVolumeClaimSpec
Pod: metadata=ObjectMeta spec=PodSpec
PodAffinity: preferredDuringSchedulingIgnoredDuringExecution,requiredDuringSchedulingIgnoredDuringExecution=list
PodAntiAffinity: preferredDuringSchedulingIgnoredDuringExecution,requiredDuringSchedulingIgnoredDuringExecution=list
PodDNSConfig: nameservers,options,searches=list
PodDisruptionBudget: metadata=ObjectMeta spec=PodDisruptionBudgetSpec
PodDisruptionBudgetSpec: selector=atomic
PodFailurePolicy: rules=list
PodSecurityContext: appArmorProfile,seLinuxOptions,seccompProfile,windowsOptions=leaf supplementalGroups,sysctls=list
PodSpec: affinity=Affinity containers,initContainers=Container[name] dnsConfig=PodDNSConfig ephemeralContainers=EphemeralContainer[name] hostAliases=HostAlias[ip] imagePullSecrets,resourceClaims,schedulingGates=leaf[name] nodeSelector,overhead=map os,schedulingGroup=leaf readinessGates,tolerations=list resources=ResourceRequirements securityContext=PodSecurityContext topologySpreadConstraints=TopologySpreadConstraint[topologyKey] volumes=Volume[name]
PodTemplateSpec: metadata=ObjectMeta spec=PodSpec
PriorityClass: metadata=ObjectMeta
Probe: exec=ExecAction grpc,tcpSocket=leaf httpGet=HTTPGetAction
ProjectedVolumeSource: sources=list
RBDVolumeSource: monitors=list secretRef=leaf
ReplicaSet: metadata=ObjectMeta spec=ReplicaSetSpec
ReplicaSetSpec: selector=LabelSelector template=PodTemplateSpec
ResourceQuota: metadata=ObjectMeta spec=ResourceQuotaSpec
ResourceQuotaSpec: hard=map scopeSelector=ScopeSelector scopes=list
ResourceRequirements: claims=list limits,requests=map
Role: metadata=ObjectMeta rules=list
RoleBinding: metadata=ObjectMeta roleRef=leaf subjects=list
RuntimeClass: metadata=ObjectMeta overhead=Overhead scheduling=Scheduling
ScaleIOVolumeSource: secretRef=leaf
Scheduling: nodeSelector=map tolerations=list
ScopeSelector: matchExpressions=list
Secret: data,stringData=map metadata=ObjectMeta
SecretVolumeSource: items=list
SecurityContext: appArmorProfile,seLinuxOptions,seccompProfile,windowsOptions=leaf capabilities=Capabilities
Service: metadata=ObjectMeta spec=ServiceSpec
ServiceAccount: imagePullSecrets=list metadata=ObjectMeta secrets=leaf[name]
ServiceSpec: clusterIPs,externalIPs,ipFamilies,loadBalancerSourceRanges=list ports=leaf[port] selector=map sessionAffinityConfig=SessionAffinityConfig
SessionAffinityConfig: clientIP=leaf
StatefulSet: metadata=ObjectMeta spec=StatefulSetSpec
StatefulSetSpec: ordinals,persistentVolumeClaimRetentionPolicy=leaf selector=LabelSelector template=PodTemplateSpec updateStrategy=StatefulSetUpdateStrategy volumeClaimTemplates=list
StatefulSetUpdateStrategy: rollingUpdate=leaf
StorageClass: allowedTopologies,mountOptions=list metadata=ObjectMeta parameters=map
StorageOSVolumeSource: secretRef=leaf
SuccessPolicy: rules=list
TopologySpreadConstraint: labelSelector=LabelSelector matchLabelKeys=list
ValidatingAdmissionPolicy: metadata=ObjectMeta spec=ValidatingAdmissionPolicySpec
ValidatingAdmissionPolicyBinding: metadata=ObjectMeta spec=ValidatingAdmissionPolicyBindingSpec
ValidatingAdmissionPolicyBindingSpec: matchResources=MatchResources paramRef=ParamRef validationActions=list
ValidatingAdmissionPolicySpec: auditAnnotations,validations=list matchConditions,variables=leaf[name] matchConstraints=MatchResources paramKind=leaf
ValidatingWebhook: admissionReviewVersions,rules=list clientConfig=WebhookClientConfig matchConditions=leaf[name] namespaceSelector,objectSelector=LabelSelector
ValidatingWebhookConfiguration: metadata=ObjectMeta webhooks=ValidatingWebhook[name]
Volume: awsElasticBlockStore,azureDisk,azureFile,emptyDir,flocker,gcePersistentDisk,gitRepo,glusterfs,hostPath,image,nfs,persistentVolumeClaim,photonPersistentDisk,portworxVolume,quobyte,vsphereVolume=leaf cephfs=CephFSVolumeSource cinder=CinderVolumeSource configMap=ConfigMapVolumeSource csi=CSIVolumeSource downwardAPI=DownwardAPIVolumeSource ephemeral=EphemeralVolumeSource fc=FCVolumeSource flexVolume=FlexVolumeSource iscsi=ISCSIVolumeSource projected=ProjectedVolumeSource rbd=RBDVolumeSource scaleIO=ScaleIOVolumeSource secret=SecretVolumeSource storageos=StorageOSVolumeSource
VolumeResourceRequirements: limits,requests=map
WebhookClientConfig: service=leaf
`;

const plain: MergeRule = { kind: "map", type: "leaf" };

const rules: ReadonlyMap<string, ReadonlyMap<string, MergeRule>> = new Map(
  table
    .trim()
    .split("\n")
    .map((line) => {
      const [type = "", ...groups] = line.split(/:? /);
      return [type, new Map(groups.flatMap(fieldsOfGroup))] as const;
    }),
);

function fieldsOfGroup(group: string): readonly (readonly [string, MergeRule])[] {
  const [fields = "", name = ""] = group.split("=");
  return fields.split(",").map((field) => [field, ruleOf(name)] as const);
}

function ruleOf(name: string): MergeRule {
  const [, type, key] = /^(\w+)\[(\w+)\]$/.exec(name) ?? [];
  if (type !== undefined && key !== undefined) return { kind: "items", type, key };
  if (name === "list" || name === "atomic") return { kind: "atomic" };
  if (name === "union") return { kind: "union" };
  return name === "map" || name === "leaf" ? plain : { kind: "map", type: name };
}
