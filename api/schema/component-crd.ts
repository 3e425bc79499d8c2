import { type ComponentKind, componentKinds } from "../component.ts";
import type { JsonObject } from "../kubernetes.ts";
import { eventingSpec, servingSpec } from "./component-spec.ts";
import { int64, stringList, stringMap, text } from "./primitives.ts";

const perKind = {
  KnativeServing: {
    spec: servingSpec,
    about: "An installation of Knative Serving on one cluster.",
  },
  KnativeEventing: {
    spec: eventingSpec,
    about: "An installation of Knative Eventing on one cluster.",
  },
} as const;

const printerColumns = [
  { name: "Version", type: "string", jsonPath: ".status.version" },
  { name: "Ready", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
  { name: "Reason", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].reason' },
  { name: "Target Cluster", type: "string", jsonPath: ".spec.clusterProfileRef.name" },
  { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
];

const hasRef = (self: string): string =>
  `(has(${self}.spec) && has(${self}.spec.clusterProfileRef))`;

/**
 * Upstream's rules with upstream's messages (knative-operator.md 1.1). They are on the whole object and not on the optional `spec`,
 * so that removing `spec` and adding it again cannot evade them (D-44).
 */
const rules = [
  {
    rule: `${hasRef("self")} == ${hasRef("oldSelf")}`,
    message: "spec.clusterProfileRef cannot be added or removed after creation",
    fieldPath: ".spec.clusterProfileRef",
  },
  {
    rule: `!${hasRef("self")} || !${hasRef("oldSelf")} || self.spec.clusterProfileRef == oldSelf.spec.clusterProfileRef`,
    message: "spec.clusterProfileRef is immutable",
    fieldPath: ".spec.clusterProfileRef",
  },
];

/** Name of the CRD of a component kind. */
export function crdNameOf(kind: ComponentKind): string {
  return `${componentKinds[kind].plural}.operator.knative.dev`;
}

/** The CustomResourceDefinition of a component kind, wire-compatible with upstream's. Spec: knative-operator.md 1. */
export function crdOf(kind: ComponentKind): JsonObject {
  const { plural } = componentKinds[kind];
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: crdNameOf(kind) },
    spec: {
      group: "operator.knative.dev",
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() },
      scope: "Namespaced",
      versions: [
        {
          name: "v1beta1",
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

function schemaOf(kind: ComponentKind): JsonObject {
  const { spec, about } = perKind[kind];
  return {
    type: "object",
    description: about,
    "x-kubernetes-validations": rules,
    properties: {
      apiVersion: text("Version of the schema of this object."),
      kind: text("Kind of this object."),
      metadata: { type: "object" },
      spec,
      status: componentStatus,
    },
  };
}

/** `status` of both kinds. Spec: knative-operator.md 1.5. */
export const componentStatus = {
  type: "object",
  description: "What has been observed.",
  properties: {
    annotations: {
      ...stringMap,
      description:
        "Further facts: knfleet.dev/set-content is the content of a fleet set that is installed.",
    },
    conditions: {
      type: "array",
      description:
        "State of the installation. Ready sums up the others; where it is not True, its reason and message say why.",
      items: {
        type: "object",
        required: ["status", "type"],
        properties: {
          lastTransitionTime: text("When the status of the condition last changed."),
          message: text("What happened, as a sentence for people."),
          reason: text("What happened, as one word for programs."),
          severity: text("How to read a status other than True; empty means it is an error."),
          status: text("True, False or Unknown."),
          type: text(
            "Ready, DependenciesInstalled, DeploymentsAvailable, InstallSucceeded, TargetClusterResolved or VersionMigrationEligible; while they are True, Reconciling or Stalled.",
          ),
        },
      },
    },
    manifests: {
      ...stringList,
      description: "Parts of the release that are installed, as paths in the release directory.",
    },
    observedGeneration: {
      ...int64,
      description: "metadata.generation of the object that this status describes.",
    },
    version: text("Version that was last installed completely."),
  },
} as const;
