import { int32, intOrString, labelSelector, stringMap, text } from "./primitives.ts";
import { resourceOverrides, workloadOverride } from "./workload-override.ts";

const manifestSources = {
  type: "array",
  items: {
    type: "object",
    required: ["URL"],
    properties: {
      URL: text("Where the YAML is; ${VERSION} stands for the target version."),
    },
  },
} as const;

const namespaceSettings = {
  type: "object",
  properties: {
    annotations: { ...stringMap, description: "Annotations to set on the Namespace." },
    labels: { ...stringMap, description: "Labels to set on the Namespace." },
  },
} as const;

const registry = {
  type: "object",
  description: "Where images come from.",
  properties: {
    default: text(
      "Template of all images, for example registry.example.com/knative/${NAME}:v1; ${NAME} stands for the last part of the image's name.",
    ),
    imagePullSecrets: {
      type: "array",
      description: "Pull secrets that are added to all pods and cached images.",
      items: {
        type: "object",
        "x-kubernetes-map-type": "atomic",
        properties: {
          name: {
            type: "string",
            default: "",
            description: "Name of a Secret in the namespace of the component.",
          },
        },
      },
    },
    override: {
      ...stringMap,
      description:
        "Exact images by container name, by workload/container, or by the environment variable that holds the image. Wins over default.",
    },
  },
} as const;

const podDisruptionBudgets = {
  type: "array",
  description: "Changes to PodDisruptionBudgets of the release, by name.",
  items: {
    type: "object",
    required: ["name"],
    properties: {
      maxUnavailable: {
        ...intOrString,
        description:
          "Largest number or percentage of pods that an eviction may make unavailable. Excludes minAvailable.",
      },
      minAvailable: {
        ...intOrString,
        description:
          "Smallest number or percentage of pods that stay available during an eviction. Excludes maxUnavailable.",
      },
      name: text("Name of the PodDisruptionBudget."),
      selector: { ...labelSelector, description: "Accepted for compatibility; has no effect." },
      unhealthyPodEvictionPolicy: text("Accepted for compatibility; has no effect."),
    },
  },
} as const;

// Copied from upstream word for word, so that the two CRDs can be compared.
const patches = {
  type: "array",
  description:
    "Patches customize generated resources after all built-in transformations have been applied.",
  items: {
    type: "object",
    description: "ResourcePatch customizes one generated Kubernetes resource.",
    required: ["patch", "target"],
    properties: {
      patch: {
        type: "object",
        description: "Patch defines the patch type and content to apply.",
        required: ["content", "type"],
        properties: {
          content: {
            type: "string",
            minLength: 1,
            description: "Content is a JSON or YAML patch document.",
          },
          type: {
            type: "string",
            enum: ["json", "merge", "strategic"],
            description: 'Type is the patch type: "json", "merge", or "strategic".',
          },
        },
      },
      target: {
        type: "object",
        description: "Target identifies exactly one generated resource to patch.",
        required: ["apiVersion", "kind", "name"],
        properties: {
          apiVersion: {
            type: "string",
            minLength: 1,
            description:
              'APIVersion is the API version of the target resource, for example "apps/v1".',
          },
          kind: {
            type: "string",
            minLength: 1,
            description:
              'Kind is the Kubernetes kind of the target resource, for example "Deployment".',
          },
          name: {
            type: "string",
            minLength: 1,
            description: 'Name is the name of the target resource, for example "activator".',
          },
          namespace: text(
            "Namespace optionally disambiguates resources with the same API version, kind, and name.",
          ),
        },
      },
    },
  },
} as const;

const services = {
  type: "array",
  description: "Changes to Services of the release, by name.",
  items: {
    type: "object",
    required: ["name"],
    properties: {
      annotations: { ...stringMap, description: "Annotations to set on the Service." },
      labels: { ...stringMap, description: "Labels to set on the Service." },
      name: text("Name of the Service."),
      selector: {
        ...stringMap,
        description: "Keys to set in the Service's selector; other keys stay as they are.",
      },
    },
  },
} as const;

/** Fields of `spec` that both kinds have. Spec: knative-operator.md 1.1. */
export const commonSpec = {
  additionalManifests: {
    ...manifestSources,
    description:
      "Further objects to install; an object of the same kind, namespace and name replaces the one of the release.",
  },
  clusterProfileRef: {
    type: "object",
    description:
      "The ClusterProfile of the cluster to install on. Absent: this cluster. Cannot be added, removed or changed later.",
    required: ["name", "namespace"],
    properties: {
      name: { type: "string", minLength: 1, description: "Name of the ClusterProfile." },
      namespace: { type: "string", minLength: 1, description: "Namespace of the ClusterProfile." },
    },
  },
  config: {
    type: "object",
    additionalProperties: stringMap,
    description:
      "Keys to set in the component's ConfigMaps: ConfigMap name, with or without the prefix config-, then key, then value.",
  },
  deployments: {
    type: "array",
    description: "Deprecated, use workloads. Applied before workloads.",
    items: workloadOverride,
  },
  "high-availability": {
    type: "object",
    description: "High availability of the control plane.",
    required: ["replicas"],
    properties: {
      replicas: {
        ...int32,
        description:
          "Replicas of the Deployments that can have several, and least number of replicas of HorizontalPodAutoscalers.",
      },
    },
  },
  manifests: {
    ...manifestSources,
    description:
      "Objects to install instead of the release's. Needs version, and must be of that version.",
  },
  namespace: {
    ...namespaceSettings,
    description: "Labels and annotations of the Namespace that the component is installed in.",
  },
  namespaceConfiguration: {
    ...namespaceSettings,
    description:
      "Another name for namespace; where both set a key, the value in namespace is used.",
  },
  patches,
  podDisruptionBudgets,
  registry,
  resources: {
    ...resourceOverrides,
    description:
      "Deprecated, use workloads[].resources. Requests and limits by container name, for all Deployments.",
  },
  services,
  version: text(
    "Version to install: exact (1.23.0), a minor (1.23) for its newest patch release, or latest. Absent: the newest bundled version.",
  ),
  workloads: {
    type: "array",
    description: "Changes to Deployments, StatefulSets and Jobs of the release, by name.",
    items: workloadOverride,
  },
} as const;
