import type { SetWords } from "./set-words.ts";

const wait = "Wait.";
const nothing = "Nothing.";
const diagnose = "kubectl knfleet diagnose.";
const describePod = "On the cluster: kubectl describe pod.";
const lastLog = "On the cluster: kubectl logs POD --previous.";
const events = "On the cluster: kubectl get events -n NAMESPACE.";

/** Reasons of Deployments and of other objects that have pods. */
const workloads: SetWords = {
  MinimumReplicasAvailable: ["A Deployment has enough available pods.", nothing],
  MinimumReplicasUnavailable: ["A Deployment has too few available pods.", diagnose],
  NewReplicaSetAvailable: ["The rollout of a Deployment is complete.", nothing],
  NewReplicaSetCreated: ["The rollout of a Deployment begins.", wait],
  FoundNewReplicaSet: ["A Deployment goes back to a ReplicaSet that it had before.", wait],
  ReplicaSetUpdated: ["The rollout of a Deployment goes on.", wait],
  ProgressDeadlineExceeded: ["The rollout of a Deployment takes longer than it may.", diagnose],
  DeploymentPaused: [
    "Somebody paused the rollout of a Deployment.",
    "On the cluster: kubectl rollout resume deployment NAME.",
  ],
  DeploymentResumed: ["Somebody let the rollout of a Deployment go on.", nothing],
  ScalingReplicaSet: ["A Deployment changes the number of its pods.", nothing],
  SuccessfulCreate: ["A pod was made.", nothing],
  SuccessfulDelete: [
    "A pod was deleted, because fewer are wanted or a new one replaces it.",
    nothing,
  ],
  FailedCreate: ["A pod could not be made: a quota, a policy or a webhook refuses it.", diagnose],
  FailedDelete: ["A pod could not be deleted; the message says who refuses it.", describePod],
  FailedUpdate: ["A StatefulSet could not change a pod; the message says why.", describePod],
  BackoffLimitExceeded: [
    "A Job failed as often as it may.",
    "Look at the log of its pods, and delete the Job to run it again.",
  ],
  DeadlineExceeded: [
    "A Job or a pod took longer than its activeDeadlineSeconds.",
    "Look at the log of its pods: what do they wait for?",
  ],
  PodFailurePolicy: [
    "A pod of a Job failed in a way for which the Job gives up at once.",
    "Look at the log of its pods.",
  ],
  Completed: ["A Job, or a container that runs once, ended well.", nothing],
  SuccessfulRescale: ["A HorizontalPodAutoscaler changed the number of pods.", nothing],
  FailedGetScale: [
    "A HorizontalPodAutoscaler cannot read the scale of its workload.",
    "On the cluster: kubectl describe hpa.",
  ],
  FailedGetResourceMetric: [
    "A HorizontalPodAutoscaler gets no metrics of its pods, and leaves their number as it is.",
    "Look whether the metrics server of the cluster works: kubectl top pods.",
  ],
  FailedComputeMetricsReplicas: [
    "A HorizontalPodAutoscaler cannot count how many pods are needed: its metrics are missing.",
    "Look whether the metrics server of the cluster works: kubectl top pods.",
  ],
  NoPods: ["A PodDisruptionBudget protects no pod: its workload has none.", diagnose],
};

/** Why a pod has no node, or lost it. */
const places: SetWords = {
  PodScheduled: ["Condition of a pod: it has a node.", diagnose],
  Scheduled: ["A pod has got its node.", nothing],
  FailedScheduling: ["No node can take a pod; the message says why.", diagnose],
  Unschedulable: [
    "No node can take a pod: too little cpu or memory is free, or selectors, taints or volumes exclude all nodes.",
    "Make room or add a node, or lower the requests of the workload in spec.workloads.",
  ],
  SchedulingGated: [
    "A pod waits for another program that lets it be scheduled, such as a queue.",
    "Look at spec.schedulingGates of the pod, and ask whoever set them.",
  ],
  Preempted: ["A pod had to go for one of higher priority.", "Give the workload a priority class."],
  Evicted: [
    "The node removed a pod: memory or disk of the node ran short, or the pod used more than it may.",
    "Look at the node, kubectl describe node, and set the requests of the workload in spec.workloads.",
  ],
  TaintManagerEviction: [
    "A pod goes from its node because of a taint: mostly, the node does not answer.",
    "Look at the node: kubectl describe node.",
  ],
  NodeNotReady: ["The node of a pod does not answer.", "Look at the node: kubectl describe node."],
  NodeLost: ["The node of a pod does not answer.", "Look at the node: kubectl describe node."],
};

/** Why an image cannot be pulled. */
const images: SetWords = {
  Pulling: ["The node pulls an image.", wait],
  Pulled: ["The node has the image.", nothing],
  ImagePullBackOff: [
    "An image cannot be pulled, and the node tries again more and more rarely: wrong name, no access, no way to the registry, or a limit of it.",
    "kubectl knfleet images names the images; then look at spec.registry and its imagePullSecrets. kubectl describe pod on the cluster has the answer of the registry.",
  ],
  ErrImagePull: [
    "An image could not be pulled. Becomes ImagePullBackOff.",
    "As for ImagePullBackOff.",
  ],
  ErrImageNeverPull: [
    "The image is not on the node, and imagePullPolicy Never forbids to pull it.",
    "Load the image onto the nodes, or change imagePullPolicy.",
  ],
  InvalidImageName: [
    "The name of an image is not valid.",
    "Correct spec.registry: kubectl knfleet images shows what it makes of each image.",
  ],
  InspectFailed: ["The name of an image is not valid.", "As for InvalidImageName."],
  ImageInspectError: ["The runtime of the node cannot look at an image.", "Look at the node."],
  RegistryUnavailable: [
    "The registry of an image cannot be reached from the node.",
    "Look at network, proxy and DNS of the node, or set another registry in spec.registry.",
  ],
  SignatureValidationFailed: [
    "The signature of an image is not the one that the node wants.",
    "Look at the signature policy of the nodes, and whether the mirror has the signatures.",
  ],
};

/** Why a container does not start, or does not run on. */
const containers: SetWords = {
  ContainerCreating: ["A container is being made; it may wait for its image or volumes.", wait],
  PodInitializing: ["The init containers of a pod run.", wait],
  Created: ["A container was made.", nothing],
  Started: ["A container was started.", nothing],
  Killing: ["A container is being stopped.", nothing],
  CrashLoopBackOff: [
    "A container ends again and again, and is started again more and more rarely.",
    `Read why it ended. ${lastLog}`,
  ],
  BackOff: [
    "Event: an image could not be pulled or a container ended, again; the next attempt comes later.",
    `Explain the state of the container. ${describePod}`,
  ],
  OOMKilled: [
    "A container used more memory than its limit, and was ended.",
    "Raise the memory limit of the workload in spec.workloads.",
  ],
  Error: ["A container ended with an exit code other than 0.", lastLog],
  ContainerCannotRun: ["The runtime of the node cannot start a container.", describePod],
  ContainerStatusUnknown: ["The node does not know how a container ended.", describePod],
  StartError: [
    "A container could not be started; often its command is not in the image.",
    describePod,
  ],
  CreateContainerConfigError: [
    "A container needs a ConfigMap, a Secret or a key in one that is not there.",
    `Make what the message names. ${describePod}`,
  ],
  CreateContainerError: [
    "The runtime of the node cannot make a container: a volume, a device or a name is in the way.",
    describePod,
  ],
  RunContainerError: [
    "The runtime of the node cannot start a container; often its command is not in the image.",
    describePod,
  ],
  PreCreateHookError: ["A hook before the making of a container failed.", describePod],
  PreStartHookError: ["A hook before the start of a container failed.", describePod],
  PostStartHookError: ["The postStart hook of a container failed.", describePod],
  FailedPostStartHook: ["The postStart hook of a container failed.", describePod],
  FailedPreStopHook: ["The preStop hook of a container failed.", describePod],
  FailedKillPod: ["The node could not end a pod.", "Look at the node: kubectl describe node."],
  Failed: [
    "Event: an image could not be pulled, or a container could not be made; the message says which.",
    describePod,
  ],
  FailedSync: ["Event: the node could not bring a pod into the wanted state.", describePod],
};

/** Why a pod that runs is not ready, and what else it lacks. */
const health: SetWords = {
  Unhealthy: [
    "A probe of a container failed. A failed readiness probe takes the pod out of its Service, a failed liveness probe restarts the container.",
    "Read the log of the container: kubectl knfleet logs.",
  ],
  ProbeWarning: ["A probe of a container gave a warning.", nothing],
  ContainersNotReady: ["Containers of a pod are not ready.", diagnose],
  ContainersNotInitialized: ["Init containers of a pod have not ended.", describePod],
  PodCompleted: ["All containers of a pod have ended well.", nothing],
  PodFailed: ["A pod ended with an error.", lastLog],
  FailedMount: [
    "A volume of a pod cannot be mounted: mostly a Secret or a ConfigMap is not there.",
    `Make what the message names. ${describePod}`,
  ],
  FailedAttachVolume: [
    "A volume cannot be attached to the node of a pod; often another node still has it.",
    describePod,
  ],
  FailedMapVolume: ["A block volume of a pod cannot be mapped.", describePod],
  FailedBinding: ["A claim for a volume finds none.", "On the cluster: kubectl describe pvc."],
  ProvisioningFailed: [
    "No volume could be made for a claim.",
    "On the cluster: kubectl describe pvc.",
  ],
  WaitForFirstConsumer: ["A claim for a volume waits until its pod has a node.", wait],
  FailedCreatePodSandBox: [
    "The node cannot give a pod its network: mostly the network plugin does not work, or has no address left.",
    `Look at the pods of the network plugin. ${events}`,
  ],
  SandboxChanged: ["The network of a pod is made anew, so that its containers restart.", nothing],
  NetworkNotReady: ["The network plugin of the node is not ready.", "Look at the node."],
  DNSConfigForming: ["The node shortened the DNS settings of a pod.", nothing],
};

/** Words of the upstream operator and of Kubernetes that commands show in messages, Events and tables. */
export const foreignWords: SetWords = {
  ...workloads,
  ...places,
  ...images,
  ...containers,
  ...health,
};
