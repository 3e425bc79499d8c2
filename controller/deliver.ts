import { deliveryOf } from "./pull/delivery.ts";
import { handBack, removeHandedBack } from "./pull/hand-back.ts";
import type { PullDeps } from "./pull/pull-deps.ts";
import { pull } from "./pull/pull.ts";
import { removePulled } from "./pull/remove-pulled.ts";
import type { Next } from "./queue/delays.ts";
import type { Attempt } from "./reconcile/reconcile-deps.ts";
import { reconcile } from "./reconcile/reconcile.ts";
import { uninstall } from "./uninstall/uninstall.ts";

/**
 * One attempt for a component, by the way in which it comes to its cluster. Who delivers is asked only here, from the component. Two questions need the cluster and are asked on the way: whether
 * another controller has to hand the installation over (hand-over.ts: its anchor says so), and whether a pulled component is still as the hub installed it (remove-pulled.ts).
 */
export async function deliver(
  attempt: Attempt,
  deps: PullDeps,
  signal: AbortSignal,
): Promise<Next> {
  const isRemoval = attempt.component.metadata.deletionTimestamp !== undefined;
  const delivery = await deliveryOf(attempt.component, deps, signal);
  if (delivery === "HandBack") {
    return (isRemoval ? removeHandedBack : handBack)(attempt, deps, signal);
  }
  if (delivery === "Pull") return (isRemoval ? removePulled : pull)(attempt, deps, signal);
  return (isRemoval ? uninstall : reconcile)(attempt, deps, signal);
}
