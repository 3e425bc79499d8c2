import { readFile } from "node:fs/promises";

const usualNamespace = "knfleet-system";
const podNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/** The pod's own namespace, or the usual one outside a pod. */
export async function podNamespace(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const named = environment["POD_NAMESPACE"] ?? "";
  if (named !== "") return named;
  const mounted = await readFile(podNamespaceFile, "utf8").catch(() => "");
  return mounted.trim() === "" ? usualNamespace : mounted.trim();
}
