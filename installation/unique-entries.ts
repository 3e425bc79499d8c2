import { isRecord } from "../api/fields.ts";
import type { Manifest } from "../api/kubernetes.ts";
import { changeField } from "../render/fields.ts";
import { isWorkload } from "../render/workloads/pod-template.ts";

const podSpec = ["spec", "template", "spec"];

/**
 * Leaves one entry of each name in the lists of a workload's pods in which Kubernetes accepts several, because server-side apply
 * refuses the whole object for them: variables of a container, of which the last one counts for Kubernetes too, and pull secrets.
 */
export function withUniqueEntries(manifest: Manifest): Manifest {
  if (!isWorkload(manifest)) return manifest;
  const lists = ["containers", "initContainers"].map((list) => [...podSpec, list, "*", "env"]);
  return [...lists, [...podSpec, "imagePullSecrets"]].reduce(
    (current, path) => changeField(current, path, uniqueByName),
    manifest,
  );
}

function uniqueByName(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  const entries: readonly unknown[] = value;
  const last = new Map(entries.map((entry) => [nameOf(entry), entry]));
  return last.size === entries.length ? entries : [...last.values()];
}

function nameOf(entry: unknown): unknown {
  return isRecord(entry) ? entry["name"] : entry;
}
