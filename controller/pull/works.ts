import {
  type Component,
  componentKinds,
  isKeptWhileUsed,
  keepWhileUsedAnnotation,
} from "../../api/component.ts";
import {
  agentWorkName,
  askedDelivery,
  componentWorkName,
  deliveryAnnotation,
  pulledAnnotations,
  workApiVersion,
} from "../../api/delivery.ts";
import { checkJobKeptSeconds, setAnnotations, setLabels } from "../../api/fleet-set.ts";
import { groupOf, type Manifest } from "../../api/kubernetes.ts";
import { protectedCondition, contestedCondition, conditionTypes } from "../../api/reasons.ts";
import { componentUidLabel } from "../../installation/anchor.ts";
import { hashOf } from "../../render/fields.ts";
import { agentManifests, agentNamespace, agentNamespaceLabels } from "./agent.ts";

/** Label with the value `knfleet` on all works, by which they are watched. */
export const workLabel = { key: "app.kubernetes.io/managed-by", value: "knfleet" } as const;

/** Annotation of a work: hash of what was written. A field that the hub takes away changes it, while the work would still hold every field that is left. */
export const workHashAnnotation = "knfleet.dev/work-hash";

/** A field that the agent of Open Cluster Management reports back, and its JSONPath. */
type Feedback = readonly (readonly [name: string, path: string])[];

/** The name of a label or annotation as a field of a JSONPath. */
function fieldOf(name: string): string {
  return name.replaceAll(".", String.raw`\.`);
}

/** The conditions that a component on a spoke tells. `TargetClusterResolved` is told by the hub alone. `Stalled` has the reason of an `Error`. */
export const toldConditions = [
  ...conditionTypes.filter((type) => type !== "TargetClusterResolved"),
  protectedCondition,
  contestedCondition,
  "Stalled",
] as const;

const toldFields = ["status", "reason", "message"] as const;

const componentFeedback: Feedback = [
  ["hubGeneration", `.metadata.annotations.${fieldOf(pulledAnnotations.hubGeneration)}`],
  ["generation", ".metadata.generation"],
  ["observed", ".status.observedGeneration"],
  ["version", ".status.version"],
  ["content", `.status.annotations.${fieldOf(setAnnotations.content)}`],
  ["answer", `.status.annotations.${fieldOf(setAnnotations.answer)}`],
  ...toldConditions.flatMap((type) =>
    toldFields.map(
      (field) =>
        [feedbackName(type, field), `.status.conditions[?(@.type=="${type}")].${field}`] as const,
    ),
  ),
];

/** Name of the feedback about a field of a condition. */
export function feedbackName(type: string, field: (typeof toldFields)[number]): string {
  return `${type}.${field}`;
}

/** Where a component goes. */
export interface Place {
  /** Name of the ManagedCluster. */
  readonly cluster: string;
  /** Namespace of the installation on the spoke. */
  readonly namespace: string;
  readonly hubId: string;
}

/**
 * The work that brings a component to a spoke, where a controller without hub installs it into its own namespace. The Namespace stays when the work is deleted.
 * Equal input gives equal works.
 */
export function componentWork(
  component: Component,
  { cluster, namespace, hubId }: Place,
): Manifest {
  const { kind, apiVersion, metadata, spec = {} } = component;
  const { clusterProfileRef: _, ...local } = spec;
  const { [setAnnotations.content]: content, [setAnnotations.question]: question } =
    metadata.annotations ?? {};
  // The controller on the spoke lets go then, and the hub takes over; see hand-back.ts.
  const isHandedBack = askedDelivery(component) === "Push";
  const copy: Manifest = {
    apiVersion,
    kind,
    metadata: {
      name: metadata.name,
      namespace,
      ...labelsOfSet(component),
      annotations: {
        [pulledAnnotations.hubId]: hubId,
        [pulledAnnotations.hubComponentUid]: metadata.uid,
        [pulledAnnotations.hubGeneration]: `${metadata.generation ?? 0}`,
        ...(isKeptWhileUsed(component) ? { [keepWhileUsedAnnotation]: "true" } : {}),
        ...(content === undefined ? {} : { [setAnnotations.content]: content }),
        ...(question === undefined ? {} : { [setAnnotations.question]: question }),
        ...(isHandedBack ? { [deliveryAnnotation]: "Push" } : {}),
      },
    },
    spec: local,
  };
  const { plural } = componentKinds[kind];
  const resource = { group: groupOf(apiVersion), resource: plural, name: metadata.name, namespace };
  return work(
    { name: componentWorkName(component), cluster, labels: { [componentUidLabel]: metadata.uid } },
    {
      manifests: [namespaceManifest(namespace), copy],
      namespace,
      configs: [{ ...configOf(resource, componentFeedback), updateStrategy: ownApply }],
    },
  );
}

/** The labels by which the controller on a spoke knows that a set decides when its component gets what; none without a set. */
function labelsOfSet({ metadata: { labels = {} } }: Component) {
  const { [setLabels.set]: set, [setLabels.stage]: stage = "" } = labels;
  return set === undefined ? {} : { labels: { [setLabels.set]: set, [setLabels.stage]: stage } };
}

/** The work that brings the controller, with its rights, to a spoke. The Namespace stays when the work is deleted. */
export function agentWork(cluster: string, image: string): Manifest {
  const deployment = {
    group: "apps",
    resource: "deployments",
    name: agentWorkName,
    namespace: agentNamespace,
  };
  return work(
    { name: agentWorkName, cluster, labels: {} },
    {
      manifests: [
        namespaceManifest(agentNamespace, agentNamespaceLabels),
        ...agentManifests(image),
      ],
      namespace: agentNamespace,
      configs: [configOf(deployment, [["available", ".status.availableReplicas"]])],
    },
  );
}

/** What the hub is told of the Job of a check: which Job it is, and the conditions with which it ends. */
const jobFeedback: Feedback = [
  ["uid", ".metadata.uid"],
  ["set", `.metadata.labels.${fieldOf(setAnnotations.setUid)}`],
  ["complete", '.status.conditions[?(@.type=="Complete")].status'],
  ["failed", '.status.conditions[?(@.type=="Failed")].status'],
  ["reason", '.status.conditions[?(@.type=="Failed")].reason'],
];

/**
 * The work that runs the Job of a check on a cluster, for a component. It has the name, labels and annotations of the Job, which goes with it. It is written once and never changed. When the Job
 * has ended, Open Cluster Management applies it no more, and deletes the work after 31 days.
 */
export function checkWork(
  job: Manifest,
  { cluster, componentUid }: { readonly cluster: string; readonly componentUid: string },
): Manifest {
  const { name = "", namespace = "", labels, annotations } = job.metadata;
  // Works with this label bring components.
  const { [workLabel.key]: _, ...own } = labels ?? {};
  const resource = { group: "batch", resource: "jobs", name, namespace };
  return {
    apiVersion: workApiVersion,
    kind: "ManifestWork",
    metadata: {
      name,
      namespace: cluster,
      labels: { ...own, [componentUidLabel]: componentUid },
      ...(annotations === undefined ? {} : { annotations }),
    },
    spec: {
      workload: { manifests: [job] },
      // The template of a Job cannot be changed, and the API server adds to it.
      manifestConfigs: [
        {
          ...configOf(resource, jobFeedback),
          updateStrategy: { type: "CreateOnly" },
          conditionRules: [{ type: "WellKnownConditions", condition: "Complete" }],
        },
      ],
      deleteOption: {
        propagationPolicy: "Foreground",
        ttlSecondsAfterFinished: checkJobKeptSeconds,
      },
    },
  };
}

// The fields of a component have one owner on the spoke, so that a field that leaves the hub's spec leaves the spoke's, too.
const ownApply = {
  type: "ServerSideApply",
  serverSideApply: { force: true, fieldManager: "work-agent-knfleet" },
};

function configOf(resourceIdentifier: object, feedback: Feedback): object {
  const jsonPaths = feedback.map(([name, path]) => ({ name, path }));
  return {
    resourceIdentifier,
    // Told within a second, while polling takes 10 to 20.
    feedbackScrapeType: "Watch",
    feedbackRules: [{ type: "JSONPaths", jsonPaths }],
  };
}

function namespaceManifest(name: string, labels?: Readonly<Record<string, string>>): Manifest {
  const metadata = labels === undefined ? { name } : { name, labels };
  return { apiVersion: "v1", kind: "Namespace", metadata };
}

interface Content {
  readonly manifests: readonly Manifest[];
  /** The Namespace among the manifests. */
  readonly namespace: string;
  readonly configs: readonly object[];
}

function work(
  {
    name,
    cluster,
    labels,
  }: { readonly name: string; readonly cluster: string; readonly labels: object },
  { manifests, namespace, configs }: Content,
): Manifest {
  const stays = { group: "", resource: "namespaces", name: namespace, namespace: "" };
  const spec = {
    workload: { manifests },
    manifestConfigs: configs,
    deleteOption: {
      propagationPolicy: "SelectivelyOrphan",
      selectivelyOrphans: { orphaningRules: [stays] },
    },
  };
  return {
    apiVersion: workApiVersion,
    kind: "ManifestWork",
    metadata: {
      name,
      namespace: cluster,
      labels: { [workLabel.key]: workLabel.value, ...labels },
      annotations: { [workHashAnnotation]: hashOf(spec) },
    },
    spec,
  };
}
