import { ApiError } from "../../../access/kube/api-error.ts";
import type { KubeClient, ListOptions } from "../../../access/kube/kube-client.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";

/** The kinds that a cluster serves, by group. */
const served: Readonly<Record<string, readonly (readonly [kind: string, plural: string])[]>> = {
  "serving.knative.dev": [
    ["Service", "services"],
    ["Configuration", "configurations"],
    ["Route", "routes"],
  ],
  "eventing.knative.dev": [["Trigger", "triggers"]],
  "sources.example": [["ParrotSource", "parrotsources"]],
};

export function objectOf(kind: string, name: string, more: object = {}): KubeObject {
  const metadata = { namespace: "shop", name, uid: name, resourceVersion: "1", ...more };
  return { apiVersion: "x/v1", kind, metadata, spec: {} };
}

export function refusal(status: number, message = "no"): ApiError {
  return new ApiError({
    status,
    message,
    reason: "",
    causes: [],
    isStatus: true,
    request: "GET /",
  });
}

interface Stub {
  readonly objects?: Readonly<Record<string, readonly KubeObject[]>>;
  readonly errors?: Readonly<Record<string, Error>>;
  /** Number of objects that a list names. */
  readonly counts?: Readonly<Record<string, number>>;
}

/** A cluster with these objects by plural, and what is asked of it. */
export function clusterOfUsers({ objects = {}, errors = {}, counts = {} }: Stub) {
  const asked: string[] = [];
  const client: Pick<KubeClient, "list" | "request"> = {
    request: async (_method, path) => {
      const group = path.replace("/apis/", "").replace(/\/v1$/, "");
      if (served[group] === undefined) throw refusal(404);
      if (!path.endsWith("/v1")) {
        const version = { groupVersion: `${group}/v1`, version: "v1" };
        return { name: group, versions: [version], preferredVersion: version };
      }
      const resources = served[group].map(([kind, name]) => ({ kind, name, namespaced: true }));
      return { resources };
    },
    list: async ({ resource: { plural } }, options: ListOptions) => {
      asked.push(plural);
      if (errors[plural] !== undefined) throw errors[plural];
      options.onCount?.(counts[plural] ?? 0);
      const items = (objects[plural] ?? []).map((one) => options.keep?.(one) ?? one);
      return { items, resourceVersion: "1" };
    },
  };
  return { client, asked };
}
