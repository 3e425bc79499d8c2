import type { SetWords } from "./set-words.ts";

const wait = "Wait.";
const nothing = "Nothing.";
const diagnose = "kubectl knfleet diagnose.";
const status = "Look at the message: kubectl knfleet status TYPE/NAME -n NAMESPACE.";

/** Conditions of a component; docs/reasons.md is held to this and to all other lists by a test. */
export const componentConditions: SetWords = {
  Ready: [
    "All other conditions on which it depends are True: the wanted version is applied and available.",
    diagnose,
  ],
  TargetClusterResolved: [
    "The cluster of the component is known, may be used and is reached.",
    "While it is not True: explain the reason.",
  ],
  VersionMigrationEligible: [
    "The wanted version may follow the installed one.",
    "While it is not True: set spec.version to a version at most one minor away from status.version.",
  ],
  DependenciesInstalled: ["Upstream's condition: nothing is needed from others.", nothing],
  InstallSucceeded: [
    "All objects are applied to the cluster.",
    "While it is not True: read its message, which names the objects and what refuses them.",
  ],
  DeploymentsAvailable: [
    "The Deployments, StatefulSets and DaemonSets of the installation are available, with the pods of the wanted version.",
    "While it is not True: kubectl knfleet diagnose names the pods and what they wait for.",
  ],
  AnchorProtected: [
    "The API server of the cluster keeps others from deleting the anchor. `Ready` does not depend on it.",
    "While it is not True: explain the reason.",
  ],
  Contested: [
    "Somebody else changes the objects that the message names again and again; it is also an Event. It is there only during the contest, and `Ready` does not depend on it.",
    "Take the named fields out of what the other manager applies, or set them in the spec of the component.",
  ],
};

/** Reasons of conditions and Events of a component that are not in the catalogue of failures. */
export const componentReasons: SetWords = {
  Error: [
    "Upstream's reason for a step that failed. The message and the number say what failed, the Event has the reason of the catalogue.",
    diagnose,
  ],
  NotReady: [
    "Deployments, StatefulSets or DaemonSets are not available yet, or not any more; the message names them and what is known of the cause.",
    diagnose,
  ],
  NotWatched: [
    "The workloads on the cluster may not be watched, so nothing is known of them.",
    "Give the controller the rights of spoke-role.yaml; the message names the missing one.",
  ],
  NotSynced: [
    "The watches of the cluster were interrupted, or have not listed everything yet; what is there is read anew.",
    wait,
  ],
  Unknown: [
    "The state or reason is not known: nobody has told it, or it has no valid form.",
    status,
  ],
  Installed: [
    "Event: a version is applied and available; the message names the one before.",
    nothing,
  ],
  Waiting: [
    "Event: an installation that was complete, or whose failure is over, waits for its cluster; the message names what it waits for. It ends with `Installed` or `Ready`.",
    wait,
  ],
  Repaired: [
    "Event: objects that somebody else deleted or changed were put right; the message names them.",
    "Find out who changes them, in the audit log of the cluster.",
  ],
  SharedCredential: [
    "Event: the token for the cluster is also sent to the server of another ClusterProfile, whose operator could use it here.",
    "Give each cluster a token of its own; docs/access.md says how.",
  ],
  Recovered: [
    "Event: the cluster is reached or may be used again, the version may be installed now, the objects are applied now, or the anchor is protected again.",
    nothing,
  ],
  WebhookUnblocked: [
    "Event: for minutes a Knative webhook without pods kept ConfigMaps that its pods need from being written; its rules were emptied, its pods fill them again.",
    "Look why the pods of that webhook were away.",
  ],
  ConfirmationWithdrawn: [
    "Event: a confirmation to delete an anchor or its namespace was not used within 15 minutes.",
    "Confirm again, if it is still meant.",
  ],
  JobFailed: [
    "Event: a Job of the release, or of `spec.additionalManifests`, has failed; the message names it and the reason. `Ready` does not depend on it.",
    "Look at the log of the Job's pods, and delete the Job to run it again.",
  ],
  ContestOver: [
    "Event: nobody changes the objects any more over which there was a contest.",
    nothing,
  ],
  Adopted: [
    "Event: what the upstream operator installed was taken over; nothing restarts for that.",
    nothing,
  ],
  TakenOver: [
    "Event: the component is pulled now, or pushed again: the controller of the spoke or of the hub took over what the other one had installed.",
    nothing,
  ],
  AnchorLost: [
    "Event: the anchor was deleted while the component lives; it and everything that went with it are installed again.",
    "Find out who deleted it, in the audit log of the cluster.",
  ],
  Removed: ["Event: the removal is done and verified; or nothing of it was there.", nothing],
  ForceOrphanIgnored: [
    "Event: the annotation to leave everything behind has no effect; the message says why.",
    "Correct the annotation as the message says.",
  ],
  Orphaned: [
    "Event: the component was let go on demand, and everything was left on its cluster.",
    "Remove what was left by hand: kubectl knfleet orphans lists it.",
  ],
};

/** Words in ClusterProfiles that discovery or `register` keeps. */
export const profileWords: SetWords = {
  ControlPlaneHealthy: [
    "Condition: the API server of the cluster answers, says whoever keeps the ClusterProfile.",
    "While it is not True: ask whoever keeps the ClusterProfile; its reason says why.",
  ],
  Joined: ["Condition: the cluster belongs to the fleet.", nothing],
  Registered: ["`kubectl knfleet register` made the ClusterProfile.", nothing],
  Discovered: [
    "Discovery made the ClusterProfile from a Secret or a Cluster API Cluster.",
    nothing,
  ],
  NotChecked: ["Discovery has not asked the cluster yet.", wait],
  NotInitialized: ["The control plane of the Cluster API Cluster is not initialized yet.", wait],
  KubeconfigMissing: [
    "The Secret of the source has no kubeconfig, or is not there yet.",
    "Look at the Secret that the message names.",
  ],
  KubeconfigRefused: [
    "The kubeconfig of the source cannot be used; the message says why.",
    "Correct the kubeconfig in the Secret that the message names.",
  ],
  ClusterDeleting: ["The Cluster API Cluster is being deleted.", nothing],
  SourceGone: [
    "The Secret or the Cluster from which discovery made the ClusterProfile is gone.",
    "Delete the components of the cluster and then the ClusterProfile, or bring the source back.",
  ],
  NameTaken: [
    "A ClusterProfile of that name is there already, and discovery did not make it.",
    "Rename the source, or delete the other ClusterProfile.",
  ],
  ProfileRefused: [
    "The hub does not take the ClusterProfile that discovery makes of the source; the message says why.",
    "Put right what the message names: a policy, a webhook or a quota of the hub, or the namespace of the ClusterProfile.",
  ],
};
