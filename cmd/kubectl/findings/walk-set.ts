import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { componentKeyOf } from "../../../api/component.ts";
import { conditionOf } from "../../../api/conditions.ts";
import {
  type FleetSet,
  fleetSetKinds,
  type NotableCluster,
  setLabels,
} from "../../../api/fleet-set.ts";
import { knfCodes, type KnfCode } from "../../../api/knf/knf-codes.ts";
import { describe } from "../../../api/kubernetes.ts";
import { scaledToZero } from "../../../api/reasons.ts";
import { readSet } from "../hub/fleet-sets.ts";
import { failedPhases, isObserved, rolloutItemOf } from "../hub/rollout-item.ts";
import { rolloutSteps } from "../hub/rollout-steps.ts";
import { deletionText } from "../hub/set-view.ts";
import { refusedStatusOf } from "../hub/warnings.ts";
import { words } from "../output/steps.ts";
import { type Diagnosis, isSameTarget, type SetTarget, type Target } from "./diagnosis.ts";
import { listComponents } from "./hops/component-hops.ts";
import { failed, finding, type Finding, type HopResult, passed, passedWith } from "./hops/hop.ts";
import type { StepValue, Walk } from "./walk.ts";

interface HubAccess {
  readonly hub: KubeClient;
  readonly hubTimeoutMs: number;
}

/** A cluster of a set that is not well, and its component. */
export interface TroubledCluster {
  readonly notable: NotableCluster;
  /** Undefined: the set has not made it, or it may not be read. */
  readonly component: Target | undefined;
}

const troubled: readonly string[] = ["Failed", "TimedOut", "Unreachable", "Blocked", "Diverged"];

/** The clusters of a set that are not well, as its status tells. None for a set that cannot be read: its own walk says why. */
export async function troubledClusters(
  target: SetTarget,
  access: HubAccess,
  signal: AbortSignal,
): Promise<readonly TroubledCluster[]> {
  const set = await readSet(access, target, signal).catch(() => undefined);
  const notable = (set?.status?.notable ?? []).filter(({ state }) => troubled.includes(state));
  if (notable.length === 0) return [];
  const kind = fleetSetKinds[target.kind].component;
  const all = await listComponents(kind, access.hub, signal).catch(() => undefined);
  const own = (all ?? []).filter(
    ({ metadata }) =>
      metadata.namespace === target.namespace && metadata.labels?.[setLabels.set] === target.name,
  );
  return notable.map((one) => {
    const component = own.find(({ spec }) => {
      const ref = spec?.clusterProfileRef;
      return ref !== undefined && `${ref.namespace}/${ref.name}` === one.cluster;
    });
    return { notable: one, component: component && componentKeyOf(component) };
  });
}

/** The steps of a set: it is there, it knows its clusters, and its rollout goes on. */
export async function walkSet(
  target: SetTarget,
  {
    walk,
    facts,
    access,
  }: {
    readonly walk: Walk;
    readonly facts: StepValue<unknown>;
    readonly access: HubAccess;
  },
): Promise<void> {
  const set = await walk.take("set", [facts], (_, late) => findSet(target, access, late));
  await walk.take("selection", [set], ([one]) => checkSelection(one));
  await walk.take("rollout", [set], async ([one], late) => {
    const refusal = await refusedStatusOf(one, access, late);
    return refusal === undefined ? checkRollout(one) : statusRefused(refusal);
  });
}

async function findSet(
  target: SetTarget,
  access: HubAccess,
  signal: AbortSignal,
): Promise<HopResult<FleetSet>> {
  const set = await readSet(access, target, signal);
  if (set === undefined) {
    const list = words("kubectl", "get", `${fleetSetKinds[target.kind].plural}.knfleet.dev`, "-A");
    return failed("KNF1010", `${describe(target)} does not exist`, { next: [list] });
  }
  if (set.metadata.deletionTimestamp !== undefined)
    return passedWith(set, "is being deleted", deletionOf(set));
  const { generation = 0 } = set.metadata;
  const text = `generation ${generation}, observed ${set.status?.observedGeneration ?? 0}`;
  if (isObserved(set)) return passed(set, text);
  const message = `${describe(target)}: no controller has seen the latest change yet`;
  return passedWith(set, text, { findings: [finding("warning", "KNF1011", { message })] });
}

/** The set goes when its components are gone or given up; the message names the first cluster that it waits for. */
function deletionOf(set: FleetSet): { readonly findings: readonly Finding[] } {
  const message = deletionText(set);
  return {
    findings: [finding("warning", "KNF1025", { message, next: rolloutSteps(rolloutItemOf(set)) })],
  };
}

function checkSelection(set: FleetSet): HopResult<true> {
  const selected = conditionOf(set.status?.conditions, "Selected");
  if (selected === undefined) return passed(true, "not known yet");
  const { status, reason = "", message = "" } = selected;
  if (status === "True") return passed(true, message);
  return passedWith(true, message, {
    findings: [
      finding("error", "KNF1026", {
        message: `Selected=${status} ${reason}: ${message}`,
        next: [words("kubectl", "knfleet", "explain", reason), ...rolloutSteps(rolloutItemOf(set))],
      }),
    ],
  });
}

/** What the status says of the rollout is old then. */
function statusRefused(message: string): HopResult<true> {
  const next = [words("kubectl", "knfleet", "explain", "WriteRefused")];
  return passedWith(true, message, { findings: [finding("error", "KNF1026", { message, next })] });
}

function checkRollout(set: FleetSet): HopResult<true> {
  if (set.metadata.deletionTimestamp !== undefined) return passed(true, "ended with the deletion");
  const item = rolloutItemOf(set);
  const { phase, stage, waitingFor } = item;
  if (phase === "Complete" && isObserved(set)) return scaledIn(set) ?? passed(true, "Complete");
  const where = stage === null ? "" : `, stage ${stage}`;
  const message = `${phase ?? "Not begun"}${where}${waitingFor === null ? "" : `: ${waitingFor}`}`;
  const steps = rolloutSteps(item);
  const word = conditionOf(set.status?.conditions, "Stalled")?.reason ?? phase;
  const explained = word === null ? [] : [words("kubectl", "knfleet", "explain", word)];
  const [severity, code] = verdictOf(phase);
  const next = [...steps, ...explained];
  return passedWith(true, message, { findings: [finding(severity, code, { message, next })] });
}

/** Ready clusters on which somebody scaled workloads to zero; undefined: none. */
function scaledIn(set: FleetSet): HopResult<true> | undefined {
  const { reason, message = "" } = conditionOf(set.status?.conditions, "Healthy") ?? {};
  if (reason !== scaledToZero) return undefined;
  return passedWith(true, "Complete", { findings: [finding("warning", "KNF6015", { message })] });
}

function verdictOf(phase: string | null): readonly [Finding["severity"], KnfCode] {
  if (failedPhases.some((one) => one === phase)) return ["error", "KNF1024"];
  return phase === "Blocked" ? ["error", "KNF1026"] : ["warning", "KNF1025"];
}

/** The walk of a set with what the walks to its clusters have found, as evidence and first steps of its own finding. */
export function withClusters(
  set: Diagnosis,
  clusters: readonly TroubledCluster[],
  walks: readonly Diagnosis[],
): Diagnosis {
  const { rootCause } = set;
  if (rootCause === null || clusters.length === 0) return set;
  const found = clusters.map(({ notable, component }) => {
    const walk = walks.find(
      ({ target }) => component !== undefined && isSameTarget(target, component),
    );
    return { notable, cause: walk?.rootCause ?? null };
  });
  const evidence = found.map(({ notable: { cluster, state, reason, message }, cause }) =>
    cause === null
      ? `${cluster} ${state} ${reason}: ${message}`
      : `${cluster} ${state}: ${cause.code} ${knfCodes[cause.code].name}: ${cause.message}`,
  );
  const steps = clusters.flatMap(({ component }) =>
    component === undefined
      ? []
      : [words("kubectl", "knfleet", "diagnose", argumentOf(component), "-n", component.namespace)],
  );
  const mend = steps.length === 0 ? [] : ["Mend the clusters; each walk says how:", ...steps];
  return {
    ...set,
    rootCause: {
      ...rootCause,
      evidence: [...rootCause.evidence, ...evidence],
      next: [...mend.slice(0, 1 + shownSteps), ...rootCause.next],
    },
  };
}

const shownSteps = 3;

function argumentOf({ kind, name }: Target): string {
  return `${kind.toLowerCase()}/${name}`;
}
