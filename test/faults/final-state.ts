import { setTimeout as delay } from "node:timers/promises";

import { gone, read, remove } from "../e2e/installation.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { differencesOf, dumpOfCluster, type SpokeDump } from "../support/spoke-dump.ts";
import { componentDumpOf } from "./component-dump.ts";
import type { FaultBench, Target } from "./fault-bench.ts";

/** What a case may do to what it is compared with. */
export interface Leave {
  /** Jobs that were there may be gone: the harm is that the anchor goes that owns them. */
  readonly mayLoseJobs?: true;
}

/** One look at what has to come out the same. */
export type Look = () => Promise<SpokeDump>;

/** At all that is on a spoke. */
export function spokeOf({ spoke }: Target): Look {
  return () => dumpOfCluster(spoke);
}

/** At all that is on a spoke, and at what the hub says of the component that is installed on it. */
export function spokeAndComponentOf({ hub }: FaultBench, { kind, spoke }: Target): Look {
  return async () => ({
    ...(await dumpOfCluster(spoke)),
    ...componentDumpOf(await read(hub, kind)),
  });
}

/** What differs from the wanted state when nothing moves any more. */
export async function differencesFrom(
  look: Look,
  wanted: SpokeDump,
  leave: Leave = {},
): Promise<readonly string[]> {
  let differences: readonly string[] = [];
  try {
    await waitFor(
      "the wanted state",
      async () => {
        differences = differencesBetween(wanted, await look(), leave);
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
 * What differs, but for Jobs that may be lost. The collector of the cluster may take one along with an anchor that went after the next anchor has got it
 * (it judges and deletes in two requests); the anchor says with which content a Job was accepted, and what has finished must not run again.
 */
export function differencesBetween(
  wanted: SpokeDump,
  found: SpokeDump,
  { mayLoseJobs }: Leave,
): readonly string[] {
  const lost = Object.entries(wanted).filter(
    ([id]) => mayLoseJobs === true && id.startsWith("batch|Job|") && found[id] === undefined,
  );
  return differencesOf(wanted, { ...found, ...Object.fromEntries(lost) });
}

/** What is seen as soon as two looks in a row show the same: a spoke's own controllers follow ours a moment later. */
export async function steadyDump(look: Look): Promise<SpokeDump> {
  let last: SpokeDump | undefined;
  return waitFor(
    "all to stand still",
    async () => {
      const before = last;
      last = await look();
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
