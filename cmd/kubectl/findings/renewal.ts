import { type ClusterProfile, ownManagers } from "../../../api/cluster-profile.ts";
import { renewable } from "../output/notes.ts";
import { words } from "../output/steps.ts";
import { registeredAnnotations } from "../rights/spoke-objects.ts";
import type { Finding, Hop } from "./hops/hop.ts";

/** The steps of a walk to a ClusterProfile. Where `register` made it, a new token comes from there. */
export function withRenewal(
  hops: readonly Hop[],
  profile: ClusterProfile | undefined,
): readonly Hop[] {
  if (profile?.spec?.clusterManager?.name !== ownManagers.registered) return hops;
  const step = registerStep(profile);
  const renewed = (found: Finding): Finding =>
    renewable.includes(found.code)
      ? { ...found, next: ["Give the cluster a new token; the controller takes it at once:", step] }
      : found;
  return hops.map((hop) => ({ ...hop, findings: hop.findings.map(renewed) }));
}

function registerStep({ metadata: { namespace, name, annotations = {} } }: ClusterProfile): string {
  const context = annotations[registeredAnnotations.context] ?? name;
  const from = context === name ? [] : ["--from-context", context];
  return words("kubectl", "knfleet", "register", `${namespace}/${name}`, ...from);
}
