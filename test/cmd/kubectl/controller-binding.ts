import type { KubeObject, Manifest } from "../../../api/kubernetes.ts";

/** The ClusterRoleBinding that makes the Deployments of a ServiceAccount those of a controller. */
export function controllerBinding(
  flavour: "knfleet" | "upstream",
  namespace: string,
  account = "default",
): Manifest & { readonly metadata: { readonly name: string } } {
  const role = flavour === "knfleet" ? "knfleet-controller" : "knative-serving-operator";
  const labels = {
    "app.kubernetes.io/part-of": "knfleet",
    "app.kubernetes.io/component": "controller",
  };
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: role, ...(flavour === "knfleet" ? { labels } : {}) },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
    subjects: [{ kind: "ServiceAccount", namespace, name: account }],
  };
}

/** The same as an API server has it. */
export function recordedBinding(...plan: Parameters<typeof controllerBinding>): KubeObject {
  const { metadata, ...binding } = controllerBinding(...plan);
  return { ...binding, metadata: { ...metadata, uid: metadata.name, resourceVersion: "7" } };
}
