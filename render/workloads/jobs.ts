import { isRecord } from "../../api/fields.ts";
import { type Manifest, groupOf } from "../../api/kubernetes.ts";
import { setEntries } from "../fields.ts";
import type { Transform } from "../transform.ts";

const sidecarLabel = "sidecar.istio.io/inject";

/**
 * Gives every Job a name of its own for each version, and keeps Istio's sidecar out of its pods, where it would never end.
 * `generateName` stays until `withoutGenerateName`. Spec: knative-operator.md 3.5.
 */
export function jobs(short: "serving" | "eventing", version: string): Transform {
  return (manifest) => {
    if (!isJob(manifest)) return manifest;
    const { name, generateName = "" } = manifest.metadata;
    const base = name === undefined || name === "" ? generateName : `${name}-`;
    const named = {
      ...manifest,
      metadata: { ...manifest.metadata, name: `${base}${short}-${version}` },
    };
    const labels = templateLabelsOf(manifest);
    const decided = isRecord(labels) && (labels[sidecarLabel] ?? "") !== "";
    return decided
      ? named
      : setEntries(named, ["spec", "template", "metadata", "labels"], { [sidecarLabel]: "false" });
  };
}

/** Removes `metadata.generateName` from objects that have a name, which is what server-side apply goes by. */
export const withoutGenerateName: Transform = (manifest) => {
  const { generateName, ...metadata } = manifest.metadata;
  if (generateName === undefined || metadata.name === undefined) return manifest;
  return { ...manifest, metadata };
};

/** Whether an object is a Job of Kubernetes, the only kind that gets a name where it has none. */
export function isJob({ apiVersion, kind }: Pick<Manifest, "apiVersion" | "kind">): boolean {
  return kind === "Job" && groupOf(apiVersion) === "batch";
}

function templateLabelsOf(manifest: Manifest): unknown {
  let value: unknown = manifest;
  for (const field of ["spec", "template", "metadata", "labels"]) {
    if (!isRecord(value)) return undefined;
    value = value[field];
  }
  return value;
}
