import type { ActionInput } from "../../action.ts";
import { clientVersion } from "../../client-version.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import type { ReadLimits } from "../../spokes/read-clusters.ts";
import { contextOf } from "../diagnose/diagnose-action.ts";
import { openVantage } from "../diagnose/open-vantage.ts";
import type { WalkContext } from "../diagnose/walk-context.ts";
import type { CheckReport } from "./check-item.ts";
import { check } from "./check.ts";
import { radarOf } from "./expiry.ts";

interface FleetCheckDeps extends Pick<WalkContext, "onCredential"> {
  readonly access: ClusterAccess;
  readonly limits: ReadLimits;
}

/** What `check` without any flag finds. Throws what says that the hub cannot be asked at all. */
export async function fleetCheck(
  { flags, terminal }: Pick<ActionInput<unknown>, "flags" | "terminal">,
  { access, limits, ...watching }: FleetCheckDeps,
  signal: AbortSignal,
): Promise<CheckReport> {
  const { env, now } = terminal;
  await using here = await openVantage(flags, { env, ...watching });
  const context = contextOf({ args: [], options: {}, flags, terminal }, here);
  const radar = radarOf(undefined, now().getTime());
  return await check(
    {
      documents: undefined,
      flags: { namespace: undefined, cluster: undefined, on: undefined },
      cliVersion: clientVersion,
    },
    { context: { ...context, ...watching }, access, limits, radar, settings: undefined },
    signal,
  );
}
