import type { FromSchema } from "json-schema-to-ts";

import type { Exact } from "./component-spec.ts";
import { flag, int32, intOrString, labelSelector, text } from "./primitives.ts";

const duration = (description: string) =>
  ({ type: "string", pattern: "^([0-9]+(h|m|s))+$", maxLength: 32, description }) as const;

/** A whole number, or a percentage of the clusters of a stage. */
const share = (description: string, minimum: 0 | 1) =>
  ({
    ...intOrString,
    minimum,
    pattern: minimum === 0 ? "^(0|[1-9][0-9]?|100)%$" : "^([1-9][0-9]?|100)%$",
    description,
  }) as const;

const propertyRequirement = {
  type: "object",
  required: ["name", "operator"],
  properties: {
    name: { ...text("Name of the property."), minLength: 1, maxLength: 253 },
    operator: {
      type: "string",
      enum: ["In", "NotIn", "Exists", "DoesNotExist"],
      description: "How the value is compared. A missing property is not In, and is NotIn.",
    },
    values: {
      type: "array",
      maxItems: 32,
      items: { type: "string", maxLength: 1024 },
      "x-kubernetes-list-type": "atomic",
      description: "Values for In and NotIn, at least one; none for Exists and DoesNotExist.",
    },
  },
} as const;

const clusterSelector = {
  type: "object",
  description: "Selects ClusterProfiles; an empty selector selects all of the namespaces.",
  properties: {
    namespaces: {
      type: "array",
      maxItems: 20,
      items: { type: "string", minLength: 1, maxLength: 63 },
      "x-kubernetes-list-type": "set",
      description: "Namespaces of the ClusterProfiles; default: the namespace of the set.",
    },
    ...labelSelector.properties,
    matchProperties: {
      type: "array",
      maxItems: 32,
      items: propertyRequirement,
      "x-kubernetes-list-type": "atomic",
      description: "Conditions on status.properties; all of them must hold.",
    },
    clusterManagers: {
      type: "array",
      maxItems: 8,
      items: { type: "string", minLength: 1, maxLength: 253 },
      "x-kubernetes-list-type": "set",
      description:
        "Values of spec.clusterManager.name; profiles of other managers are not selected.",
    },
  },
} as const;

const exclusion = {
  type: "object",
  required: ["name"],
  properties: {
    name: { ...text("Name of the ClusterProfile."), minLength: 1, maxLength: 253 },
    namespace: { ...text("Its namespace; default: that of the set."), maxLength: 63 },
    reason: { ...text("Why, for people."), maxLength: 256 },
  },
} as const;

const clusters = {
  type: "object",
  required: ["from"],
  description: "The clusters of the set.",
  properties: {
    from: {
      type: "string",
      enum: ["Selector", "PlacementDecision", "OCMPlacement"],
      description: "Where the clusters come from; the field of the same name says which.",
    },
    selector: clusterSelector,
    placementDecision: {
      type: "object",
      description: "PlacementDecisions of the Cluster Inventory API in the namespace of the set.",
      properties: {
        decisionKey: { ...text("Label decision-key of the slices."), maxLength: 63 },
        placementKey: { ...text("Label placement-key of the slices."), maxLength: 63 },
      },
    },
    ocmPlacement: {
      type: "object",
      required: ["name"],
      description: "A Placement of Open Cluster Management in the namespace of the set.",
      properties: { name: { ...text("Name of the Placement."), minLength: 1, maxLength: 253 } },
    },
    exclude: {
      type: "array",
      maxItems: 256,
      items: exclusion,
      "x-kubernetes-list-type": "atomic",
      description: "Clusters that keep what they have: no write and no removal.",
    },
  },
} as const;

const override = {
  type: "object",
  required: ["name", "patch"],
  properties: {
    name: {
      ...text("Name of the override."),
      pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
      maxLength: 63,
    },
    selector: {
      ...labelSelector,
      description: "The clusters, by labels of their ClusterProfiles.",
    },
    clusters: {
      type: "array",
      minItems: 1,
      maxItems: 256,
      items: { type: "string", minLength: 1, maxLength: 253 },
      "x-kubernetes-list-type": "atomic",
      description: "The clusters, by names of their ClusterProfiles; * and ? stand for characters.",
    },
    patch: {
      type: "object",
      "x-kubernetes-preserve-unknown-fields": true,
      description: "Merged over template.spec; null removes a field (RFC 7386).",
    },
  },
} as const;

const windows = {
  type: "array",
  maxItems: 8,
  "x-kubernetes-list-type": "atomic",
  description: "When clusters may start; what runs goes on. None: always.",
  items: {
    type: "object",
    required: ["cron", "duration"],
    properties: {
      cron: { ...text("Beginning of the window, in five fields."), minLength: 9, maxLength: 128 },
      duration: duration("Length of the window, from 10m to 168h."),
      timeZone: { ...text("IANA name; default UTC."), maxLength: 64 },
    },
  },
} as const;

const stage = {
  type: "object",
  required: ["name"],
  properties: {
    name: { ...text("Name of the stage."), pattern: "^[a-z0-9-]{1,40}$" },
    selector: {
      ...labelSelector,
      description: "Its clusters, by labels; the first stage that matches has a cluster.",
    },
    decisionGroup: {
      ...text("Its clusters: a decision group of the Placement."),
      minLength: 1,
      maxLength: 63,
    },
    maxConcurrency: share("Clusters that change at the same time; default 10%, at least one.", 1),
    maxFailures: share("Clusters that may fail before the rollout stops; default 0.", 0),
    maxUnreachable: share("Clusters that may be dark; default 10%, at least one.", 0),
    before: {
      type: "object",
      description: "What the stage waits for before its first cluster.",
      properties: { approval: flag("Whether somebody has to approve."), windows },
    },
    after: {
      type: "object",
      description: "What the next stage waits for.",
      properties: {
        soak: duration("How long the finished stage is watched; at most 720h, default 0s."),
        approval: flag("Whether somebody has to approve, after the soak."),
      },
    },
  },
} as const;

const rollout = {
  type: "object",
  description: "In which order and how fast the clusters change.",
  properties: {
    stages: {
      type: "array",
      maxItems: 32,
      items: stage,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
    },
    unmatched: {
      type: "string",
      enum: ["Last", "Exclude", "Refuse"],
      default: "Last",
      description:
        "Clusters of no stage: a last stage of their own, excluded, or no rollout at all.",
    },
    order: {
      type: "string",
      pattern: "^(Hashed|Name|Label:.{1,317})$",
      default: "Hashed",
      description:
        "Order inside a stage: Hashed (another one for each revision), Name or Label:KEY.",
    },
    windows,
    minReadySeconds: {
      ...int32,
      minimum: 0,
      maximum: 86_400,
      default: 0,
      description: "How long a cluster has to be ready before it is done, in seconds.",
    },
    progressDeadline: {
      type: "string",
      pattern: "^(([0-9]+(h|m|s))+|None)$",
      maxLength: 32,
      default: "15m",
      description: "After this time a cluster that is not done has failed; None: never.",
    },
    maxUnreachable: share("As in stages, for stages that say nothing.", 0),
    onFailure: {
      type: "string",
      enum: ["Pause", "Rollback"],
      default: "Pause",
      description: "What happens when more clusters of a stage failed than it allows.",
    },
    paused: { ...flag("Whether nothing new starts."), default: false },
  },
} as const;

const fleetSetFields = {
  clusters,
  overrides: {
    type: "array",
    maxItems: 64,
    items: override,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    description: "Differences for some clusters; all that match are merged, in order.",
  },
  rollout,
  adoption: {
    type: "string",
    enum: ["Never", "IfEqual", "Always"],
    default: "IfEqual",
    description: "What happens to a component that is on a selected cluster already.",
  },
  whenUnselected: {
    type: "object",
    description: "What happens to the component of a cluster that is selected no more.",
    properties: {
      policy: { type: "string", enum: ["Orphan", "Delete"], default: "Orphan" },
      after: duration("How long it has to be unselected; default 10m."),
      maxAtOnce: { ...int32, minimum: 1, default: 5, description: "Removals at the same time." },
    },
  },
  deletionPolicy: {
    type: "string",
    enum: ["Orphan", "Delete"],
    default: "Orphan",
    description: "What happens to the components when the set is deleted.",
  },
  revisionHistoryLimit: {
    ...int32,
    minimum: 1,
    maximum: 50,
    default: 10,
    description: "Revisions that are kept for a way back.",
  },
} as const;

const fleetSetSpecWithoutTemplate = {
  type: "object",
  required: ["clusters"],
  properties: { ...fleetSetFields },
} as const;

/** `spec` of a set as the API server admits it, without `template`. */
export type FleetSetFields = Exact<FromSchema<typeof fleetSetSpecWithoutTemplate>>;
