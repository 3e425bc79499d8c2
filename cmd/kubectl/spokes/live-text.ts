import type { LiveView } from "./live-view.ts";

/** States that a cluster may tell the hub by works. */
export const toldStates: readonly string[] = [
  "Ready",
  "ScaledToZero",
  "InProgress",
  "NotAvailable",
  "NotInstalled",
];

/** How many Deployments are in the state of an installation, such as `2/9 not available`. Undefined: the state says all. */
export function countText(
  { state, deployments, notAvailable, scaledToZero: scaled, missing }: LiveView,
  of = "/",
): string | undefined {
  if (deployments === null) return undefined;
  const total = deployments + missing.length;
  const text = (count: number, what: string): string => `${count}${of}${total} ${what}`;
  if (state === "ScaledToZero") return text(scaled.length, "scaled to zero");
  if (state === "InProgress") return text(notAvailable.length, "in progress");
  if (state !== "NotAvailable") return undefined;
  return notAvailable.length === 0
    ? text(missing.length, "missing")
    : text(notAvailable.length + missing.length, "not available");
}
