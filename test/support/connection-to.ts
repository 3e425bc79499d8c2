import type { Clock } from "../../access/time/clock.ts";
import { systemClock } from "../../access/time/system-clock.ts";
import { TargetConnection } from "../../controller/target/target-connection.ts";
import type { Target } from "../../controller/target/target.ts";

const noEnd = new AbortController().signal;

/** The connection to a target, as it is while nothing is known of the cluster. */
export function connectionTo(
  { client, profile, fieldManager, hubId }: Target,
  clock: Clock = systemClock,
): TargetConnection {
  const hub = profile === undefined ? { clusterId: hubId } : {};
  return new TargetConnection({ client, signal: noEnd }, { clock, fieldManager, ...hub });
}
