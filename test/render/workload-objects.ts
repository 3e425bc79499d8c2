import type { Manifest } from "../../api/kubernetes.ts";

const apiVersions = {
  Deployment: "apps/v1",
  StatefulSet: "apps/v1",
  DaemonSet: "apps/v1",
  Job: "batch/v1",
} as const;

/** A workload, `Deployment` when only a name is given, with the given spec of its pods. */
export function workload(what: string, pod: object = {}, spec: object = {}): Manifest {
  const [kind = "", named] = what.includes(" ") ? what.split(" ") : ["Deployment", what];
  const known = Object.entries(apiVersions).find(([name]) => name === kind);
  return {
    apiVersion: known?.[1] ?? "example.com/v1",
    kind,
    metadata: { name: named ?? "" },
    spec: { ...spec, template: { spec: pod } },
  };
}

/** A HorizontalPodAutoscaler with the given bounds. */
export function autoscaler(name: string, spec: object): Manifest {
  const metadata = { name };
  return { apiVersion: "autoscaling/v2", kind: "HorizontalPodAutoscaler", metadata, spec };
}

/** A Deployment with one container of the given fields. */
export function withContainer(name: string, container: object): Manifest {
  return workload(name, { containers: [{ name: "c", ...container }] });
}
