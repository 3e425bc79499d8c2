import { UsageError } from "../errors.ts";
import type { CheckFlags, CheckItem, CheckReport } from "../findings/checks/check-item.ts";
import { checkReport } from "../findings/checks/check.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { profileId, listSelectedProfiles } from "../hub/profiles.ts";
import { stampAt } from "../output/report.ts";
import { documentOf } from "./bundle-document.ts";
import { checkFile } from "./bundle.ts";
import { recordedAccess } from "./recorded-client.ts";

/**
 * The results of `check` in a bundle, for the hub and for the clusters that flags select. Throws UsageError for a bundle without them, and for flags that
 * need live servers.
 */
export async function recordedCheck(
  { flags, now, signal }: Fleet,
  options: Partial<CheckFlags>,
): Promise<CheckReport> {
  const { recorded } = flags;
  if (options.filename !== undefined && options.filename.length > 0) {
    throw onlyLive("-f asks the hub whether it takes the file, which a bundle cannot tell");
  }
  if (options.warnWithin !== undefined) {
    throw onlyLive("--warn-within is not for bundles: what ended within 7 days was noted then");
  }
  const report = recorded && documentOf(recorded, checkFile);
  if (recorded === undefined || report === undefined) {
    throw new UsageError("The bundle has no checks: only one of the whole fleet has", [
      "kubectl knfleet gather -A -o fleet.tgz",
    ]);
  }
  const access = recordedAccess(recorded, flags);
  const profiles = await listSelectedProfiles({ access, flags }, signal);
  const ids = new Set(profiles.map(profileId));
  // That two components are in each other's way is told of the whole hub.
  const isSelected = ({ code, cluster }: CheckItem): boolean =>
    cluster === null || code === "KNF1013" || ids.has(`${cluster.namespace}/${cluster.name}`);
  const items = report.items.filter(isSelected);
  const clusters = ids.size;
  return checkReport(items, clusters, stampAt(now(), report.cliVersion));
}

function onlyLive(why: string): UsageError {
  return new UsageError(why, ["Give the same command without --bundle."]);
}
