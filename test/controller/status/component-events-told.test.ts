import { expect, test } from "vitest";

import { ApiError } from "../../../access/kube/api-error.ts";
import type { ComponentStatus } from "../../../api/component.ts";
import { FleetError } from "../../../api/errors.ts";
import { processReasons, type Reason, reasons } from "../../../api/reasons.ts";
import { initialProtection } from "../../../controller/guard/protection.ts";
import { transitionEvents } from "../../../controller/status/component-events.ts";
import { statusOf } from "../../../controller/status/component-status.ts";
import type { Outcome } from "../../../controller/status/outcome.ts";
import { serving } from "../../support/component.ts";
import { everyProtection } from "../guard/every-protection.ts";

type Applied = Extract<Outcome, { kind: "applied" }>;

const now = new Date("2026-02-03T04:05:06Z");
const both = { eligible: true, resolved: true };
const neither = { eligible: false, resolved: false };
const key = { apiVersion: "v1", kind: "ConfigMap", namespace: "ns", name: "a" };
const trouble = [{ key, message: "Waiting for webhook a.b" }];
const progress = { done: 1, total: 150, waiting: [], failed: 0 };

function applied(
  changes: Partial<Applied["changes"]>,
  readiness: Partial<Applied["readiness"]> = {},
): Applied {
  return {
    kind: "applied",
    version: "1.23.0",
    paths: [],
    changes: { applied: [], unchanged: 150, parked: [], failed: [], ...changes },
    readiness: { available: true, message: "", ...readiness },
  };
}

const complete = applied({});
const down = { available: false, message: "a (crash)" };
/** Nobody fails with these: they are words for a condition, for a process, or for an attempt that is begun again. */
const neverFailedWith: readonly Reason[] = [
  "DeploymentsNotReady",
  ...processReasons,
  "RemoteClusterStale",
  "ClusterProviderClosed",
];

function failed(reason: Reason, steps: typeof both): Outcome {
  return { kind: "failed", steps, error: new FleetError(reason, `${reason} it is`) };
}

function isReason(text: string): text is Reason {
  return text in reasons;
}

/** Of a cluster that has no time. */
function failedForNow(): Outcome {
  const facts = { status: 429, reason: "", message: "", causes: [], isStatus: false, request: "" };
  const cause = new ApiError(facts);
  return { kind: "failed", steps: both, error: new FleetError("ClusterBusy", "Busy", { cause }) };
}

const failures = Object.keys(reasons)
  .filter(isReason)
  .filter((reason) => !neverFailedWith.includes(reason))
  .flatMap((reason) => [failed(reason, both), failed(reason, neither)])
  .concat(failedForNow());

const outcomes: readonly Outcome[] = [
  { kind: "working", steps: neither },
  { kind: "working", steps: both, version: "1.23.0", progress },
  complete,
  { ...complete, version: "1.24.0" },
  applied({}, down),
  { ...applied({}, down), version: "1.24.0" },
  applied({}, { ...down, stuck: ["a (crash)"] }),
  applied({}, { unseen: "Watching deployments is not allowed" }),
  applied({ parked: trouble }),
  applied({ parked: trouble }, down),
  applied({ lingering: trouble }),
  applied({ failed: trouble }),
  applied({ conflicts: [{ key, managers: [], dueMs: 5_000 }] }),
  { ...complete, protection: "off" },
  { ...complete, protection: initialProtection },
  ...everyProtection.map((reason): Outcome => {
    return { ...complete, protection: { reason, message: `${reason} it is` } };
  }),
  ...failures,
];
const removals: readonly Outcome[] = [
  { kind: "removing", steps: both, remaining: { left: 1, total: 150 } },
  ...failures,
];

/** A change of a condition with an Event that tells it, or why there is none. */
interface Row {
  readonly type: string;
  /** What it was before; every state by default. */
  readonly from?: RegExp;
  readonly to: RegExp;
  /** The reason of an Event that is told then. */
  readonly told?: RegExp;
  readonly silent?: string;
}

const failure = /^(?!Installing|Installed|Ready|Recovered|Finalizing|Waiting|ContestOver)/;
const isFirst = "the work begins, and Installing has told so if something was installed before";
const isNew = "a first installation begins when its component is made";
const ready = "what the component waits for still was told, and Ready tells the end";
// The first that fits is the one that counts.
const rows: readonly Row[] = [
  { type: "Ready", to: /^True/, told: /^(?:Ready|Installed)$/ },
  { type: "Ready", from: /^True/, to: /^False NotReady/, told: /^(?:NotReady|Installing)$/ },
  {
    type: "Ready",
    from: /^absent/,
    to: /^(?:Unknown (?:Connecting|Installing)|False NotReady)/,
    silent: isNew,
  },
  { type: "Ready", from: /^(?:True|absent)/, to: /^(?:False|Unknown)/, told: /./ },
  { type: "Ready", to: /./, silent: "it copies another condition, whose row this is" },

  { type: "InstallSucceeded", to: /^True/, told: /^(?:Ready|Installed)$/ },
  { type: "InstallSucceeded", to: /^False/, told: failure },
  { type: "InstallSucceeded", to: /^Unknown Finalizing/, told: /^Finalizing$/ },
  { type: "InstallSucceeded", from: /^absent/, to: /^Unknown Installing/, silent: isNew },
  {
    type: "InstallSucceeded",
    to: /^Unknown Installing/,
    told: /^(?:Installing|Waiting|Recovered)$/,
  },
  { type: "InstallSucceeded", from: /^absent/, to: /^Unknown$/, told: failure },

  { type: "DeploymentsAvailable", to: /^Unknown (?:SpokeUnreachable|NotWatched)/, told: failure },
  { type: "DeploymentsAvailable", to: /^Unknown Finalizing/, told: /^Finalizing$/ },
  { type: "DeploymentsAvailable", from: /^(?:absent|Unknown$)/, to: /^Unknown/, silent: isFirst },
  { type: "DeploymentsAvailable", from: /^Unknown SpokeUnreachable/, to: /^Unknown/, told: /./ },
  {
    type: "DeploymentsAvailable",
    to: /^False/,
    silent: "a rollout goes on, or Ready turns with it",
  },
  { type: "DeploymentsAvailable", to: /^True/, silent: ready },

  { type: "TargetClusterResolved", to: /^False/, told: failure },
  { type: "TargetClusterResolved", to: /^Unknown SpokeUnreachable/, told: failure },
  { type: "TargetClusterResolved", from: /^False|Unreachable/, to: /./, told: /^Recovered$/ },
  { type: "TargetClusterResolved", to: /./, silent: isFirst },

  { type: "VersionMigrationEligible", to: /^False/, told: failure },
  { type: "VersionMigrationEligible", from: /^False/, to: /./, told: /^Recovered$/ },
  { type: "VersionMigrationEligible", to: /./, silent: isFirst },

  { type: "DependenciesInstalled", to: /^True/, told: /^Installed$/ },
  { type: "DependenciesInstalled", to: /^Unknown/, silent: isFirst },

  { type: "Contested", to: /^True/, told: /^Contested$/ },
  { type: "Contested", to: /^absent/, told: /^ContestOver$/ },

  { type: "Reconciling", to: /./, silent: "it copies Ready" },
  { type: "Stalled", to: /./, silent: "it copies another condition, whose row this is" },

  { type: "AnchorProtected", to: /^absent/, silent: "whoever sets the flags wants no protection" },
  { type: "AnchorProtected", to: /beginning$/, silent: "nothing was known before" },
  { type: "AnchorProtected", from: /^absent|beginning$/, to: /^True/, silent: "it was never lost" },
  { type: "AnchorProtected", to: /^True/, told: /^Recovered$/ },
  {
    type: "AnchorProtected",
    from: /NotEnforced|BindingMissing/,
    to: /Probing/,
    silent: "the loss was told, and Recovered tells its end",
  },
  { type: "AnchorProtected", to: /^False Probing/, told: /^Probing$/ },
  { type: "AnchorProtected", to: /./, told: failure },
];

interface Turn {
  readonly type: string;
  readonly from: string;
  readonly to: string;
  readonly events: readonly string[];
}

/** `Status Reason` of each condition. */
function statesOf(status: ComponentStatus | undefined): ReadonlyMap<string, string> {
  return new Map(
    (status?.conditions ?? []).map(({ type, status: value, reason, message }) => {
      const words = [
        value,
        reason,
        ...(message === initialProtection.message ? ["beginning"] : []),
      ];
      return [type, words.filter((word) => word !== undefined).join(" ")];
    }),
  );
}

interface Step {
  readonly before: ComponentStatus | undefined;
  readonly outcome: Outcome;
  readonly metadata: { readonly generation: number; readonly deletionTimestamp?: string };
}

function statusAfter({ before, outcome, metadata }: Step): ComponentStatus {
  return statusOf(
    serving({ metadata, ...(before === undefined ? {} : { status: before }) }),
    outcome,
    now,
  );
}

function turnsOf(step: Step): readonly Turn[] {
  const { before, outcome } = step;
  const after = statusAfter(step);
  const [was, is] = [statesOf(before), statesOf(after)];
  const events = transitionEvents(before, after, outcome).map(({ reason }) => reason);
  return [...new Set([...was.keys(), ...is.keys()])].flatMap((type) => {
    const [from, to] = [was.get(type) ?? "absent", is.get(type) ?? "absent"];
    return from === to ? [] : [{ type, from, to, events }];
  });
}

const installed = statusAfter({
  before: undefined,
  outcome: complete,
  metadata: { generation: 1 },
});

/** What two outcomes in a row can turn, of a component that is new and of one that is installed. */
const turns = [undefined, installed].flatMap((start) => {
  const metadata = { generation: 1 };
  const going = { ...metadata, deletionTimestamp: "2026-02-03T04:05:05Z" };
  const after = (outcome: Outcome) => statusAfter({ before: start, outcome, metadata });
  const lives = [start, ...outcomes.map(after)].flatMap((before) =>
    outcomes.flatMap((outcome) => [
      ...turnsOf({ before, outcome, metadata }),
      ...turnsOf({ before, outcome, metadata: { generation: 2 } }),
    ]),
  );
  const leaving = removals.map((outcome) =>
    statusAfter({ before: start, outcome, metadata: going }),
  );
  const ends = [start, ...outcomes.map(after), ...leaving].flatMap((before) =>
    removals.flatMap((outcome) => turnsOf({ before, outcome, metadata: going })),
  );
  return [...lives, ...ends];
});

function rowOf({ type, from, to }: Turn): Row | undefined {
  return rows.find((row) => row.type === type && row.from?.test(from) !== false && row.to.test(to));
}

test("each change of a condition has an Event that tells it, or a reason why there is none", () => {
  const untold = turns.flatMap((turn) => {
    const row = rowOf(turn);
    if (row?.silent !== undefined) return [];
    const isTold = turn.events.some((reason) => row?.told?.test(reason) === true);
    return isTold ? [] : [`${turn.type}: ${turn.from} → ${turn.to} [${turn.events.join(" ")}]`];
  });
  expect([...new Set(untold)]).toEqual([]);
});

test("no row is for what never happens", () => {
  const used = new Set(turns.map(rowOf));
  expect(rows.filter((row) => !used.has(row))).toEqual([]);
});
