import { commonSpec } from "./common-spec.ts";
import { ingress } from "./ingress.ts";

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
        name: { type: "string", description: "Name of the ConfigMap or Secret." },
        type: { type: "string", description: "ConfigMap or Secret." },
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
            enabled: { type: "boolean", description: "Whether it is installed." },
          },
        },
      },
    },
  },
} as const;
