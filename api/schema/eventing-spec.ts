import { commonSpec } from "./common-spec.ts";

const enabled = { type: "boolean", description: "Whether it is installed." } as const;

/** `spec` of KnativeEventing. Spec: knative-operator.md 1.4. */
export const eventingSpec = {
  type: "object",
  description: "What is installed and how.",
  properties: {
    ...commonSpec,
    defaultBrokerClass: {
      type: "string",
      description: "Class of brokers that name none; MTChannelBasedBroker by default.",
    },
    sinkBindingSelectionMode: {
      type: "string",
      description:
        "inclusion: SinkBindings work only in labelled namespaces and on labelled objects; exclusion (default): everywhere but there.",
    },
    // Upstream requires all six once `source` exists (D-42); nothing is required here.
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
