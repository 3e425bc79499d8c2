import { duration } from "./duration.ts";
import { jobSpec } from "./job-spec.ts";
import { int32, labelSelector, rules, text } from "./primitives.ts";

const workloads = {
  type: "object",
  description:
    "The objects by which the users of a cluster use Knative: Services, Brokers, Triggers, sources and so on. None may break that worked before.",
  properties: {
    maxNewlyBroken: {
      ...int32,
      minimum: 0,
      default: 0,
      description: "How many may have broken since the cluster got the revision.",
    },
    within: duration(
      "How long more of them may be broken before the cluster counts as failed; default 3m.",
    ),
    ignore: {
      type: "object",
      description: "Objects that do not count.",
      properties: {
        namespaces: {
          type: "array",
          maxItems: 64,
          items: { type: "string", minLength: 1, maxLength: 63 },
          "x-kubernetes-list-type": "set",
          description: "Their namespaces; * and ? stand for characters.",
        },
        selector: { ...labelSelector, description: "By their labels." },
      },
    },
  },
} as const;

const url = {
  ...text("URL below a --check-source of the controller."),
  pattern: "^https://",
  maxLength: 2_048,
} as const;

/** How a server behind a URL is spoken to. */
const trust = {
  caBundle: {
    ...text(
      "Certificates in PEM, base64-encoded, that the server is verified by; default those of the controller's system.",
    ),
    maxLength: 65_536,
  },
  secretName: {
    ...text(
      "Secret of the set's namespace with a token, or with username and password, for the server.",
    ),
    pattern: "^knfleet-check-[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
    maxLength: 253,
  },
} as const;

const prometheus = {
  type: "object",
  required: ["query"],
  description: "Asks a Prometheus for one number.",
  "x-kubernetes-validations": rules(
    ["has(self.min) || has(self.max)", "at least one of min and max has to be present"],
    ["has(self.service) != has(self.url)", "exactly one of service and url has to be present"],
    [
      "has(self.url) || (!has(self.caBundle) && !has(self.secretName))",
      "caBundle and secretName belong to a url",
    ],
  ),
  properties: {
    url: { ...url, description: "Its URL, asked by the controller, below a --check-source." },
    ...trust,
    service: {
      type: "object",
      required: ["namespace", "name"],
      description: "Its Service, asked through the API server of the cluster.",
      properties: {
        namespace: { ...text("Namespace of the Service."), minLength: 1, maxLength: 63 },
        name: { ...text("Name of the Service."), minLength: 1, maxLength: 63 },
        port: { ...int32, minimum: 1, maximum: 65_535, default: 9090, description: "Its port." },
        scheme: {
          type: "string",
          enum: ["http", "https"],
          default: "http",
          description: "How the Service is spoken to.",
        },
      },
    },
    query: {
      ...text(
        "PromQL that gives one number. $(CLUSTER_NAME) and $(CLUSTER_NAMESPACE) stand for those of the ClusterProfile.",
      ),
      minLength: 1,
      maxLength: 2_048,
    },
    min: { type: "number", description: "The least number that is good." },
    max: { type: "number", description: "The greatest number that is good." },
  },
} as const;

const webhook = {
  type: "object",
  required: ["url"],
  description: "Asks a server of yours, which is told set, revision, stage and cluster.",
  properties: {
    url,
    ...trust,
    timeout: duration("How long an answer may take, at most 15s; default 10s."),
  },
} as const;

const check = {
  type: "object",
  required: ["name"],
  "x-kubernetes-validations": rules([
    "[has(self.prometheus), has(self.webhook), has(self.job)].exists_one(one, one)",
    "exactly one of prometheus, webhook and job has to be present",
  ]),
  properties: {
    name: {
      ...text("Name of the check."),
      pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
      maxLength: 40,
    },
    prometheus,
    webhook,
    job: jobSpec,
    for: duration("How long the answer has to be good without a break; default 0s. Not for a job."),
    interval: duration("Time between two questions, at least 10s; default 30s. Not for a job."),
    noData: {
      type: "string",
      enum: ["Fail", "Pass"],
      default: "Fail",
      description:
        "What an answer of Prometheus without any number counts as; with Fail it is asked again until progressDeadline.",
    },
  },
} as const;

/** `verify` of a rollout or of a stage. Spec: verify.md 2. */
export const verify = {
  type: "object",
  description:
    "What is asked of a cluster that is ready, before it counts as done, and during the soak of its stage.",
  properties: {
    workloads,
    checks: {
      type: "array",
      maxItems: 8,
      items: check,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      description: "Further questions; all of them have to be answered well.",
    },
  },
} as const;
