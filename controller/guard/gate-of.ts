import type { Component } from "../../api/component.ts";
import type { AnchorGate } from "../apply/install-work.ts";
import type { GuardedTarget, Guards } from "./guards.ts";

/**
 * The protection of anchors as an install sees it. The guard is at work as soon as it is known that the target suits; nothing waits for it but
 * who asks.
 */
export function gateOf(
  component: Component,
  where: GuardedTarget & { readonly suited: Promise<unknown>; readonly guards: Guards },
): AnchorGate {
  const { suited, guards } = where;
  guards.prepare(component, where);
  const enrolled = suited.then(() => guards.enrol(component, where));
  // Who waits for it is told; that the target does not suit is told elsewhere, too.
  enrolled.catch(() => undefined);
  return {
    underWay: async (signal) => (await enrolled)?.underWay(signal),
    ready: async (signal) => (await enrolled)?.ready(signal),
    needsTwin: async (signal) => (await (await enrolled)?.needsTwin(signal)) ?? false,
    saw: (anchor) => void enrolled.then((guard) => guard?.saw(anchor)).catch(() => undefined),
  };
}
