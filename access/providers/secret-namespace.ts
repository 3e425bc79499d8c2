import { readFile } from "node:fs/promises";

import { FleetError } from "../../api/errors.ts";
import { loadKubeconfig } from "../hub/kubeconfig.ts";

const mountedNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/**
 * The namespace in which the official readers look for a Secret when nothing names one: that of the kubeconfig's current
 * context when it says so, then `POD_NAMESPACE`, the ServiceAccount's, `default`. Spec: cluster-inventory.md 4.1.
 */
export async function secretNamespace(
  environment: Readonly<Record<string, string>>,
): Promise<string> {
  const configured = contextNamespace(environment);
  if (configured !== undefined && configured !== "default") return configured;
  const named = environment["POD_NAMESPACE"]?.trim() ?? "";
  if (named !== "") return named;
  const mounted = await readFile(mountedNamespace, "utf8").catch(() => "");
  return mounted.trim() === "" ? "default" : mounted.trim();
}

/** Undefined when there is no kubeconfig, or none that can be used. */
function contextNamespace(environment: Readonly<Record<string, string>>): string | undefined {
  try {
    const { files, namespace } = loadKubeconfig({ environment });
    return files.length === 0 ? undefined : namespace;
  } catch (error) {
    if (error instanceof FleetError) return undefined;
    throw error;
  }
}
