import { setTimeout as delay } from "node:timers/promises";

import { gone, read, remove } from "../e2e/installation.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { differencesOf, dumpOfCluster, type SpokeDump } from "../support/spoke-dump.ts";
import type { FaultBench, Target } from "./fault-bench.ts";

/** What differs from the wanted state when nothing moves any more. */
export async function differencesFrom(
  target: Target,
  wanted: SpokeDump,
): Promise<readonly string[]> {
  let differences: readonly string[] = [];
  try {
    await waitFor(
      "the wanted state",
      async () => {
        const found = await dumpOfCluster(target.spoke);
        differences = differencesOf(wanted, withJobsDone(found, wanted));
        return differences.length === 0;
      },
      { timeoutMs: 90_000 },
    );
    return [];
  } catch (error) {
    return differences.length === 0 ? [textOf(error)] : differences;
  }
}

/**
 * A state with those wanted Jobs that are gone. The collector of the cluster may take one along with an anchor that went after the next anchor has got it
 * (it judges and deletes in two requests); the root says with which content a Job was accepted, and what has finished must not run again.
 */
function withJobsDone(found: SpokeDump, wanted: SpokeDump): SpokeDump {
  const done = Object.entries(wanted).filter(
    ([id]) => id.startsWith("batch|Job|") && found[id] === undefined,
  );
  return { ...found, ...Object.fromEntries(done) };
}

/** The state of a spoke as soon as two looks in a row show the same: its own controllers follow ours a moment later. */
export async function steadyDump({ spoke }: Target): Promise<SpokeDump> {
  let last: SpokeDump | undefined;
  return waitFor(
    `${spoke.name} to stand still`,
    async () => {
      const before = last;
      last = await dumpOfCluster(spoke);
      if (before === undefined) await delay(500);
      return before !== undefined && differencesOf(before, last).length === 0 && last;
    },
    { timeoutMs: 90_000 },
  );
}

/** Lets a component go that nobody finalized, so that the next trial can begin; what it left stays. */
export async function releaseComponent({ hub }: FaultBench, { kind }: Target): Promise<void> {
  const component = await read(hub, kind);
  if (component === undefined) return;
  const { namespace = "", name } = component.metadata;
  const key = { apiVersion: component.apiVersion, kind, namespace, name };
  await remove(hub, kind);
  await hub.admin.patch(key, { metadata: { finalizers: null } }).catch(() => undefined);
  await gone(hub, kind, 120_000);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
