import type { ComponentKind } from "../../../api/component.ts";
import { type FleetSetKind, fleetSetKinds } from "../../../api/fleet-set.ts";
import { type KnfCode, knfCodes } from "../../../api/knf/knf-codes.ts";
import type { NamespacedName } from "../../../api/kubernetes.ts";
import type { FilenameFlag } from "../common-options.ts";
import type { PlacedSet } from "../hub/rollout-steps.ts";
import type { ReportDocument } from "../output/report.ts";
import type { Finding, Hop, HopId, HopState } from "./hops/hop.ts";
import type { Vantage } from "./vantages.ts";

/** Target of a walk. */
export interface Target extends NamespacedName {
  readonly kind: ComponentKind | FleetSetKind | "ClusterProfile";
}

/** A set as a target. */
export type SetTarget = PlacedSet & Target;

/** Whether a target is a fleet set. */
export function isSetTarget(target: Target): target is SetTarget {
  return Object.hasOwn(fleetSetKinds, target.kind);
}

export function isSameTarget(one: Target, other: Target): boolean {
  return one.kind === other.kind && one.namespace === other.namespace && one.name === other.name;
}

/** A step that has another result from another vantage. */
export interface Difference {
  readonly hop: Hop["id"];
  readonly here: HopState;
  readonly there: HopState;
  readonly meaning: string;
}

/** One walk to one target. */
export interface Diagnosis {
  readonly target: Target;
  readonly vantage: Vantage;
  readonly severity: "ok" | "warning" | "error";
  readonly rootCause: RootCause | null;
  readonly hops: readonly Hop[];
  /** Steps that have another result from this machine; empty for vantage `local`. */
  readonly differences: readonly Difference[];
  /** False when the command ended before the last step, by its time limit or an interrupt. */
  readonly finished: boolean;
}

export interface DiagnosisSummary {
  readonly total: number;
  readonly healthy: number;
  readonly warnings: number;
  readonly errors: number;
  /** How often each root cause occurs, most frequent first. */
  readonly causes: readonly {
    readonly code: string;
    readonly name: string;
    readonly count: number;
  }[];
}

export type DiagnosisReport = ReportDocument<"Diagnosis", DiagnosisSummary, Diagnosis>;

/** Flags that say how the ways are walked, and to what. */
export interface DiagnoseFlags extends FilenameFlag {
  readonly from?: Vantage;
  readonly exec?: boolean;
  readonly execTimeout?: string;
  readonly yes?: boolean;
}

/** The finding that explains most of the others. */
export interface RootCause extends Finding {
  /** Short name of the code. */
  readonly name: string;
  readonly hop: HopId;
  /** Code of the finding because of which this one does not go away by itself. */
  readonly because: KnfCode | null;
}

// An earlier group explains a later one. A broken path comes before a stopped controller, because starting the controller would
// not repair the path; problems that a running controller repairs come after it.
const groups: readonly RegExp[] = [
  /^KNF10(?:0[1-4]|10)$/,
  /^KNF101[239]$/,
  /^KNF(?:200[^7]|201[234]|30(?:0\d|1[0-8])|40(?:0\d|1[0-2]|1[56])|500[12])$/,
  /^KNF(?:101[5-7]|1023|600[13]|601[1-46])$/,
  /^KNF10(?:05|11)$/,
  /^KNF6002$/,
  /^KNF6010$/,
  /^KNF6006$/,
  /^KNF6009$/,
  /^KNF6015$/,
  /^KNF6007$/,
  /^KNF(?:6005|1014)$/,
  /^KNF10(?:18|08)$/,
  // The selection explains the phase.
  /^KNF1026$/,
  /^KNF102[45]$/,
];

/** The root cause among the findings of a walk; undefined when there are none. */
export function rootCauseOf(hops: readonly Hop[]): RootCause | undefined {
  const isReached = hops.some(
    ({ id, state }) => id === "authentication" && state !== "SKIPPED" && state !== "FAIL",
  );
  const candidates = hops
    .flatMap((hop) => hop.findings.map((one) => ({ hop: hop.id, finding: one })))
    .map((one, at) => ({ ...one, rank: rankOf(one.finding, one.hop, isReached), at }))
    .toSorted((a, b) => a.rank - b.rank || a.at - b.at);
  const [worst] = candidates;
  // A wrong clock makes every statement about an expiry doubtful.
  const clock = candidates.find(({ finding: { code } }) => code === "KNF1021");
  const isByClock = worst !== undefined && timed.includes(worst.finding.code);
  const first = isByClock ? (clock ?? worst) : worst;
  if (first === undefined || worst === undefined) return undefined;
  const others = candidates.filter((one) => one !== first);
  const { code } = first.finding;
  const blocker = others.find(({ finding: { severity } }) => severity === "error");
  const isHeld = code === "KNF1012" && blocker !== undefined;
  return {
    ...first.finding,
    severity: worst.finding.severity,
    name: knfCodes[code].name,
    hop: first.hop,
    because: isHeld ? blocker.finding.code : null,
  };
}

// Codes that depend on the clock of this machine alone.
const timed: readonly KnfCode[] = ["KNF3014", "KNF3020", "KNF4011", "KNF4013"];

const warningRank = 100;

/** Steps that read what the controller said. */
const told: Readonly<Partial<Record<HopId, number>>> = { health: 0.5, conditions: 0.6 };

function rankOf({ severity, code }: Finding, hop: HopId, isReached: boolean): number {
  const at = groups.findIndex((group) => group.test(code));
  const rank = at < 0 ? groups.length : at;
  // The walk reached the spoke, so the controller's condition about the connection is out of date.
  const isOutdated = hop === "conditions" && isReached && /^KNF[2-5]/.test(code);
  // What the controller met on the way, the steps of the way say better, if they meet it, too.
  const isTold = /^KNF(?:2006|4)/.test(code) ? (told[hop] ?? 0) : 0;
  const later = (isOutdated ? groups.length : 0) + isTold;
  return rank + later + (severity === "error" ? 0 : warningRank);
}
