import type { ActionInput } from "../action.ts";
import { usageInstead } from "../commands/render/input-files.ts";
import type { RenderSettings } from "../commands/render/render-component.ts";
import { renderSettings } from "../commands/render/render-files.ts";
import type { ClusterAccess } from "../spokes/cluster-access.ts";
import { namespaceOfHub } from "../spokes/spoke-namespace.ts";
import { rulesOfHub } from "./controller-rules.ts";
import { openManifestReader } from "./manifest-reader.ts";
import type { RenderingFlags } from "./rendering-options.ts";

/**
 * What the commands render with that compare clusters with what the controller would make of them: manifests by URL are fetched as the controller does, and
 * components are where the controller has them.
 * Throws UsageError, or FleetError when there are no releases.
 */
export async function openRendering(
  input: ActionInput<RenderingFlags>,
  access: Pick<ClusterAccess, "hub" | "hubTimeoutMs">,
  signal: AbortSignal,
): Promise<RenderSettings & AsyncDisposable> {
  const settings = await usageInstead(renderSettings(input, signal));
  const { manifestSource } = input.options;
  const rules = rulesOfHub(access, signal);
  const options = { manifestSource, files: settings.manifestText, rules };
  const namespaceOf = namespaceOfHub(input.options, rules);
  return { ...settings, namespaceOf, ...openManifestReader(options, signal) };
}
