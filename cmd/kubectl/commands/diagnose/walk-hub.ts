import { requestFinding, hubServer } from "./explain-error.ts";
import type { Controllers } from "./find-controller.ts";
import type { Hop } from "./hops/hop.ts";
import { findController, reachHub, servedKinds, type HubFacts } from "./hops/hub-hops.ts";
import { checkWebhooks } from "./hops/webhook-hop.ts";
import type { WalkContext } from "./walk-context.ts";
import { Walk, type Had } from "./walk.ts";

/** The steps that all targets of a command have in common. */
export interface HubWalk {
  readonly hops: readonly Hop[];
  readonly facts: Had<HubFacts>;
  readonly kinds: Had<true>;
  readonly controllers: Had<Controllers>;
}

/** Walks to the hub and looks who works on the components there. Gets as far as the signal lets it. */
export async function walkHub(context: WalkContext, signal: AbortSignal): Promise<HubWalk> {
  const { hubTimeoutMs } = context;
  const walk = new Walk({
    timeoutMsOf: () => hubTimeoutMs,
    signal,
    explain: (_, error) => requestFinding(error, hubServer),
  });
  try {
    return { ...(await walkAll(walk, context)), hops: walk.hops };
  } catch (error) {
    if (!signal.aborted) throw error;
    const unknown = { ok: false, because: "hub" } as const;
    return { hops: walk.hops, facts: unknown, kinds: unknown, controllers: unknown };
  }
}

async function walkAll(walk: Walk, { hub, now }: WalkContext): Promise<Omit<HubWalk, "hops">> {
  const facts = await walk.take("hub", [], (_, late) => reachHub(hub, now, late));
  const kinds = await walk.take("kinds", [facts], (_, late) => servedKinds(hub, late));
  const controllers = await walk.take("controller", [facts], ([known], late) =>
    findController(hub, known, late),
  );
  await walk.take("webhook", [facts], (_, late) => checkWebhooks(hub, late));
  return { facts, kinds, controllers };
}
