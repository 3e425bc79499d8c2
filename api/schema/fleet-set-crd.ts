import { type FleetSetKind, fleetSetKinds, longestSetName } from "../fleet-set.ts";
import type { JsonObject } from "../kubernetes.ts";
import { eventingSpec, servingSpec } from "./component-spec.ts";
import { fleetSetFields } from "./fleet-set-spec.ts";
import { fleetSetStatus } from "./fleet-set-status.ts";
import { stringMap, text } from "./primitives.ts";

const perKind = {
  KnativeServingSet: {
    componentSpec: servingSpec,
    about: "Installations of Knative Serving on many clusters, rolled out in stages.",
  },
  KnativeEventingSet: {
    componentSpec: eventingSpec,
    about: "Installations of Knative Eventing on many clusters, rolled out in stages.",
  },
} as const;

const printerColumns = [
  { name: "Version", type: "string", jsonPath: ".spec.template.spec.version" },
  { name: "Selected", type: "integer", jsonPath: ".status.clusters.selected" },
  { name: "Done", type: "integer", jsonPath: ".status.clusters.done" },
  { name: "Failed", type: "integer", jsonPath: ".status.clusters.failed" },
  { name: "Phase", type: "string", jsonPath: ".status.rollout.phase" },
  { name: "Stage", type: "string", jsonPath: ".status.rollout.stage" },
  { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
];

/** The CustomResourceDefinition of a kind of set. Spec: sets.md 3 to 5. */
export function fleetSetCrdOf(kind: FleetSetKind): JsonObject {
  const { plural, shortName } = fleetSetKinds[kind];
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.knfleet.dev` },
    spec: {
      group: "knfleet.dev",
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        shortNames: [shortName],
        categories: ["knfleet"],
      },
      scope: "Namespaced",
      versions: [
        {
          name: "v1alpha1",
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: printerColumns,
          schema: { openAPIV3Schema: schemaOf(kind) },
        },
      ],
    },
  };
}

function schemaOf(kind: FleetSetKind): JsonObject {
  return {
    type: "object",
    description: perKind[kind].about,
    required: ["spec"],
    "x-kubernetes-validations": [
      {
        rule: `size(self.metadata.name) <= ${longestSetName}`,
        message: `the name of a set has at most ${longestSetName} characters`,
      },
    ],
    properties: {
      apiVersion: text("Version of the schema of this object."),
      kind: text("Kind of this object."),
      metadata: { type: "object" },
      spec: specOf(kind),
      status: fleetSetStatus,
    },
  };
}

function specOf(kind: FleetSetKind): JsonObject {
  return {
    type: "object",
    description:
      "The clusters, the component that each of them gets, and the order of the rollout.",
    required: ["clusters", "template"],
    "x-kubernetes-validations": [
      {
        rule: "self.clusters.from == 'OCMPlacement' || !has(self.rollout) || !has(self.rollout.stages) || self.rollout.stages.all(s, !has(s.decisionGroup))",
        message: "stages have a decisionGroup only when the clusters are from an OCMPlacement",
        fieldPath: ".rollout",
      },
    ],
    properties: { ...fleetSetFields, template: templateOf(kind) },
  };
}

function templateOf(kind: FleetSetKind): JsonObject {
  const { clusterProfileRef: _perCluster, ...properties } = perKind[kind].componentSpec.properties;
  return {
    type: "object",
    description: "The component that each cluster gets.",
    properties: {
      metadata: {
        type: "object",
        description: "Labels and annotations of the components.",
        properties: {
          labels: { ...stringMap, description: "Labels of each component." },
          annotations: { ...stringMap, description: "Annotations of each component." },
        },
      },
      spec: {
        type: "object",
        description:
          "The spec of the components. Texts may refer to values of the ClusterProfile, such as $(cluster.name) and $(cluster.labels[KEY]).",
        properties,
      },
    },
  };
}
