import { int64, stringList, stringMap } from "./primitives.ts";

/** `status` of both kinds. Spec: knative-operator.md 1.5. */
export const componentStatus = {
  type: "object",
  description: "What has been observed.",
  properties: {
    annotations: { ...stringMap, description: "Further facts; not used." },
    conditions: {
      type: "array",
      description:
        "State of the installation. Ready sums up the others; where it is not True, its reason and message say why.",
      items: {
        type: "object",
        required: ["status", "type"],
        properties: {
          lastTransitionTime: { type: "string", description: "When the condition last changed." },
          message: { type: "string", description: "What happened, as a sentence for people." },
          reason: { type: "string", description: "What happened, as one word for programs." },
          severity: {
            type: "string",
            description: "How to read a status other than True; empty means it is an error.",
          },
          status: { type: "string", description: "True, False or Unknown." },
          type: {
            type: "string",
            description:
              "Ready, DependenciesInstalled, DeploymentsAvailable, InstallSucceeded, TargetClusterResolved or VersionMigrationEligible.",
          },
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
    version: { type: "string", description: "Version that was last installed completely." },
  },
} as const;
