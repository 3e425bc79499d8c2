import type { FromSchema } from "json-schema-to-ts";

import type { Exact } from "./component-spec.ts";
import { duration } from "./duration.ts";
import { int32, rules, stringMap, text } from "./primitives.ts";
import { profileSelector } from "./profile-selector.ts";
import { rollout } from "./rollout-spec.ts";

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
    ...profileSelector.properties,
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
  "x-kubernetes-validations": rules([
    "has(self.selector) == (self.from == 'Selector') && has(self.placementDecision) == (self.from == 'PlacementDecision') && has(self.ocmPlacement) == (self.from == 'OCMPlacement')",
    "exactly the field that from names has to be present: selector, placementDecision or ocmPlacement",
  ]),
  properties: {
    from: {
      type: "string",
      enum: ["Selector", "PlacementDecision", "OCMPlacement"],
      description: "Source of the clusters; the field of the same name has the details.",
    },
    selector: clusterSelector,
    placementDecision: {
      type: "object",
      description: "PlacementDecisions of the Cluster Inventory API in the namespace of the set.",
      "x-kubernetes-validations": rules([
        "has(self.decisionKey) != has(self.placementKey)",
        "exactly one of decisionKey and placementKey has to be present",
      ]),
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
      description: "Clusters whose component is neither written nor removed.",
    },
  },
} as const;

const override = {
  type: "object",
  required: ["name", "patch"],
  "x-kubernetes-validations": rules([
    "has(self.selector) != has(self.clusters)",
    "exactly one of selector and clusters has to be present",
  ]),
  properties: {
    name: {
      ...text("Name of the override."),
      pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
      maxLength: 63,
    },
    selector: {
      ...profileSelector,
      description: "The clusters, by labels and properties of their ClusterProfiles.",
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

/** Fields of `spec` besides `template`. */
export const fleetSetFields = {
  clusters,
  overrides: {
    type: "array",
    maxItems: 64,
    items: override,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    description: "Differences for some clusters; all matching ones are merged in order.",
  },
  rollout,
  adoption: {
    type: "string",
    enum: ["Never", "IfEqual", "Always"],
    default: "IfEqual",
    description: "Whether the set takes over a component that a selected cluster has already.",
  },
  whenUnselected: {
    type: "object",
    description: "What happens to the component of a cluster that the set no longer selects.",
    properties: {
      policy: { type: "string", enum: ["Orphan", "Delete"], default: "Orphan" },
      after: duration("How long the cluster has to be unselected before; default 10m."),
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
    description: "Old revisions that are kept for undo.",
  },
} as const;

const template = {
  type: "object",
  properties: {
    metadata: { type: "object", properties: { labels: stringMap, annotations: stringMap } },
    spec: { type: "object" },
  },
} as const;

/** `spec` of a set of either kind: `template.spec`, which is checked together with the overrides, may have any fields. */
export const fleetSetShape = {
  type: "object",
  required: ["clusters", "template"],
  properties: { ...fleetSetFields, template },
} as const;

const fleetSetSpecWithoutTemplate = {
  type: "object",
  required: ["clusters"],
  properties: { ...fleetSetFields },
} as const;

/** `spec` of a set without `template`, as the API server admits it. */
export type FleetSetFields = Exact<FromSchema<typeof fleetSetSpecWithoutTemplate>>;
