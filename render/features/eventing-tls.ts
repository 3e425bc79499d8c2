import { type Manifest, groupOf } from "../../api/kubernetes.ts";
import { type Config, configEntryOf } from "./config-maps.ts";

const groups = ["cert-manager.io", "trust.cert-manager.io"];

/**
 * Whether `spec.config` turns on TLS inside Eventing. It looks where the ConfigMap gets its value from, so that both always
 * agree (upstream's do not, D-40). Spec: knative-operator.md 3.21.
 */
export function usesTls(config: Config): boolean {
  const value = configEntryOf(config, "config-features")?.["transport-encryption"] ?? "";
  return ["permissive", "strict"].includes(value.toLowerCase());
}

/** Whether an object needs cert-manager on the cluster. Spec: knative-operator.md 3.21. */
export function needsCertManager(manifest: Manifest): boolean {
  return groups.includes(groupOf(manifest.apiVersion));
}
