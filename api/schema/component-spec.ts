import type { FromSchema } from "json-schema-to-ts";

import { commonSpec } from "./common-spec.ts";
import { ingress } from "./ingress.ts";
import { flag, text } from "./primitives.ts";

/** `spec` of KnativeServing. Spec: knative-operator.md 1.3. */
export const servingSpec = {
  type: "object",
  description: "What is installed and how.",
  properties: {
    ...commonSpec,
    "controller-custom-certs": {
      type: "object",
      description:
        "CA certificates that Serving's controller trusts, for example to resolve image tags at a private registry.",
      required: ["name", "type"],
      properties: {
        name: text("Name of the ConfigMap or Secret."),
        type: text("ConfigMap or Secret."),
      },
    },
    ingress,
    security: {
      type: "object",
      description: "Security extensions.",
      required: ["securityGuard"],
      properties: {
        securityGuard: {
          type: "object",
          description: "Security guard, which watches the traffic of services.",
          required: ["enabled"],
          properties: {
            enabled: flag("Whether it is installed."),
          },
        },
      },
    },
  },
} as const;

const enabled = flag("Whether it is installed.");

/** `spec` of KnativeEventing. Spec: knative-operator.md 1.4. */
export const eventingSpec = {
  type: "object",
  description: "What is installed and how.",
  properties: {
    ...commonSpec,
    defaultBrokerClass: text("Class of brokers that name none; MTChannelBasedBroker by default."),
    sinkBindingSelectionMode: text(
      "inclusion: SinkBindings affect only namespaces and objects with the label bindings.knative.dev/include=true. exclusion (default): all but those with bindings.knative.dev/exclude=true.",
    ),
    // Upstream requires all six sources when `source` exists (D-42). Here all are optional.
    source: {
      type: "object",
      description: "Which event sources are installed besides those of Eventing itself.",
      properties: {
        ceph: { type: "object", description: "Events from Ceph.", properties: { enabled } },
        github: { type: "object", description: "Events from GitHub.", properties: { enabled } },
        gitlab: { type: "object", description: "Events from GitLab.", properties: { enabled } },
        kafka: { type: "object", description: "Events from Kafka.", properties: { enabled } },
        rabbitmq: { type: "object", description: "Events from RabbitMQ.", properties: { enabled } },
        redis: { type: "object", description: "Events from Redis.", properties: { enabled } },
      },
    },
  },
} as const;

/** The schema of the spec of each kind of component. */
export const specSchemas = { KnativeServing: servingSpec, KnativeEventing: eventingSpec } as const;

/**
 * The type of a schema for code: deeply read-only, and without the index signature that FromSchema adds to every object that allows
 * other fields. A CRD cannot forbid them, but the API server removes them.
 */
export type Exact<T> = T extends readonly (infer Item)[]
  ? readonly Exact<Item>[]
  : T extends object
    ? [keyof Named<T>] extends [never]
      ? { readonly [K in keyof T]: Exact<T[K]> }
      : { readonly [K in keyof Named<T>]: Exact<Named<T>[K]> }
    : T;

type Named<T> = { [K in keyof T as string extends K ? never : K]: T[K] };

/** `spec` of KnativeServing as the API server admits it. Spec: knative-operator.md 1. */
export type KnativeServingSpec = Exact<FromSchema<typeof servingSpec>>;

/** `spec` of KnativeEventing as the API server admits it. Spec: knative-operator.md 1. */
export type KnativeEventingSpec = Exact<FromSchema<typeof eventingSpec>>;
