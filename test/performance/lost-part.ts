import { condition, create, gone, ready, remove } from "../e2e/installation.ts";
import { seconds } from "./figures.ts";
import type { Goal } from "./goals.ts";
import type { Workbench } from "./workbench.ts";

/** What a component says of a spoke that falls silent and comes back. */
export interface LostSpokeResult {
  /** From the last sign of life of the spoke to `Ready` Unknown. */
  readonly noticedMs: number;
  /** From the first sign of life to `Ready` True. */
  readonly recoveredMs: number;
}

const noticedLimitMs = 30_000;

/** Installs Eventing, freezes the spoke's API server, waits until that is said, and lets it go on. */
export async function measureLostSpoke(
  { fleet: { hub }, subjects }: Workbench,
  say: (line: string) => void,
): Promise<LostSpokeResult> {
  const [subject] = subjects;
  if (subject === undefined) throw new Error("There is nothing to install");
  const { kind, profile, spoke } = subject;
  say("Lost spoke: installing Eventing");
  await create(hub, { kind, on: profile });
  await ready(hub, kind);
  say("Lost spoke: freezing its API server");
  const frozenAt = performance.now();
  spoke.pause();
  let thawedAt: number;
  let noticedMs: number;
  try {
    await condition(hub, kind, ["Ready", { status: "Unknown" }, 120_000]);
    noticedMs = performance.now() - frozenAt;
  } finally {
    spoke.resume();
    thawedAt = performance.now();
  }
  await ready(hub, kind, 180_000);
  const recoveredMs = performance.now() - thawedAt;
  await remove(hub, kind);
  await gone(hub, kind);
  return { noticedMs, recoveredMs };
}

/** How long a spoke may be lost unseen. */
export function lostSpokeGoals({ noticedMs }: LostSpokeResult): readonly Goal[] {
  return [
    {
      text: "Lost spoke: silence to Ready Unknown",
      value: noticedMs,
      limit: noticedLimitMs,
      show: seconds,
    },
  ];
}
