import type { Answer } from "../../stub-hub.ts";

const verbs = ["get", "list"];

/** How API servers say which kinds they serve, as they answer since Kubernetes 1.30. */
const core = {
  kind: "APIGroupDiscoveryList",
  items: [
    {
      metadata: { name: null },
      versions: [
        {
          version: "v1",
          resources: [
            kind("pods", "Pod", { singular: "pod", shortNames: ["po"], categories: ["all"] }),
            kind("namespaces", "Namespace", { singular: "namespace", scope: "Cluster" }),
            kind("secrets", "Secret", { singular: "secret" }),
            kind("services", "Service", { singular: "service", shortNames: ["svc"] }),
            { ...kind("bindings", "Binding", { singular: "binding" }), verbs: ["create"] },
          ],
        },
      ],
    },
  ],
};

const groups = {
  kind: "APIGroupDiscoveryList",
  items: [
    {
      metadata: { name: "serving.knative.dev" },
      versions: ["v1", "v1beta1"].map((version) => ({
        version,
        resources: [
          kind("services", "Service", {
            singular: "service",
            shortNames: ["ksvc"],
            categories: ["all", "knative"],
          }),
        ],
      })),
    },
  ],
};

function kind(
  resource: string,
  name: string,
  facts: {
    readonly singular: string;
    readonly shortNames?: readonly string[];
    readonly categories?: readonly string[];
    readonly scope?: string;
  },
) {
  const { singular, shortNames = [], categories = [], scope = "Namespaced" } = facts;
  return {
    resource,
    responseKind: { group: "", version: "v1", kind: name },
    scope,
    singularResource: singular,
    verbs,
    shortNames,
    categories,
  };
}

function object(kindName: string, namespace: string, name: string): object {
  return {
    apiVersion: "v1",
    kind: kindName,
    metadata: {
      namespace,
      name,
      labels: { app: name },
      managedFields: [{ manager: "somebody" }],
      annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{}" },
    },
    ...(kindName === "Secret" ? { data: { token: "c2VjcmV0" } } : {}),
  };
}

const columnDefinitions = [
  { name: "Name", priority: 0 },
  { name: "Ready", priority: 0 },
  { name: "Node", priority: 1 },
];

function table(names: readonly string[], kindName: string): object {
  return {
    kind: "Table",
    metadata: {},
    columnDefinitions,
    rows: names.map((name) => ({
      cells: [name, "1/1", "node-1"],
      object: object(kindName, "team-a", name),
    })),
  };
}

/** A hub that serves pods, Secrets, and Knative Services in no namespace of ours. */
export const kindsAnswer: Answer = ({ path, accept }) => {
  if (path === "/api") return { body: core };
  if (path === "/apis") return { body: groups };
  if (!accept.includes("as=Table")) return undefined;
  if (path.endsWith("/pods")) return { body: table(["activator-1", "controller-1"], "Pod") };
  if (path.endsWith("/secrets")) return { body: table(["key"], "Secret") };
  return { body: table([], "Service") };
};
