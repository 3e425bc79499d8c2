import { withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import type { Component } from "../../../../api/component.ts";
import { FleetError } from "../../../../api/errors.ts";
import { byText } from "../../../../api/fields.ts";
import { describe } from "../../../../api/kubernetes.ts";
import type { Releases } from "../../../../render/release/releases.ts";
import { isCustom } from "../../../../render/release/user-manifests.ts";
import {
  minimumKubernetes,
  targetVersion,
  versionRefusal,
} from "../../../../render/release/version.ts";
import { fieldChanges } from "../../compare/comparable.ts";
import { askHub, type HubAnswer, planItem, type PlanItem } from "../../compare/plan-item.ts";
import { withSpec } from "../../compare/render-component.ts";
import type { RenderSettings } from "../../compare/render-component.ts";
import {
  hopsTo,
  type UpgradeRefusal,
  refusalsOf,
  type UpgradeFacts,
} from "../../compare/upgrade.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { knfOf } from "../../output/knf-of.ts";
import { nameKey } from "../../output/names.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import { mapLimited } from "../../spokes/read-clusters.ts";
import { findWays } from "../../spokes/wayless.ts";
import { type Planned, plannedOf, readLooks } from "./plan.ts";
import { readUpgrades, type UpgradeLook } from "./upgrade-look.ts";
import { readSetsAtVersion, type SetAtVersion } from "./upgrade-sets.ts";

/** A component and what it would become. */
interface Step {
  readonly before: Component;
  readonly after: Component;
  readonly of: SetAtVersion | undefined;
}

/**
 * What would happen if the selected installations of the hub, or the sets that have stamped them, named a version. Throws only when the hub cannot be read;
 * nothing is changed.
 */
export async function planUpgrade(
  fleet: Fleet,
  version: string,
  settings: RenderSettings,
): Promise<Planned> {
  const { signal, now } = fleet;
  const access = await fleet.access();
  const { components, missing } = await fleet.installations();
  const limits = fleet.limits();
  const sets = await readSetsAtVersion(components, { access, now, version }, signal);
  const steps = inRolloutOrder(
    components.map((before) => stepOf(before, version, sets.get(before.metadata.uid))),
  );
  const deadline = withTimeout(systemClock, 2 * access.hubTimeoutMs, signal);
  const answers = await mapLimited(steps, limits.concurrency, (step) =>
    answerTo(step, access, deadline),
  );
  const targets = steps.map(({ after }) => after);
  const ways = await findWays(targets, { access, limits }, signal);
  const releases = await releasesFor(ways.near, settings);
  const { looks, unread } = await readLooks(fleet, ways, settings, (hubId) =>
    readUpgrades(ways.near, { settings, releases, hubId }),
  );
  const items = steps.flatMap((step, at) => {
    const answer = answers[at];
    if (answer === undefined) return [];
    const found = looks.get(step.before.metadata.uid);
    return [itemOf(step, { answer, found, settings, releases })];
  });
  const denied = [...looks.values()].flatMap(({ look }) => look.errors);
  return plannedOf(items, { missing, denied, unread });
}

/** The releases; undefined where no cluster can be read, and where none are found but the version rule refuses each step already. */
async function releasesFor(
  near: readonly Component[],
  { releases }: RenderSettings,
): Promise<Releases | undefined> {
  if (near.length === 0) return undefined;
  return await releases().catch((error: unknown) => {
    const isRefused = near.every((one) => versionRefusal(one) !== undefined);
    if (isRefused && error instanceof FleetError) return undefined;
    throw error;
  });
}

function stepOf(before: Component, version: string, of: SetAtVersion | undefined): Step {
  // An override of the set may name another version.
  return { before, after: withSpec(before, { version: of?.version ?? version }), of };
}

/** Components without a set, by name; then those of each set, in the order of its rollout. */
function inRolloutOrder(steps: readonly Step[]): readonly Step[] {
  return steps
    .toSorted(byText(({ before: { kind, metadata } }) => nameKey({ ...metadata, kind })))
    .toSorted((a, b) => (a.of?.place ?? 0) - (b.of?.place ?? 0))
    .toSorted(byText(({ of }) => (of === undefined ? "" : nameKey(of.set))));
}

/** What the hub says. Of a component of a set, whose controller writes it, nothing is asked. */
async function answerTo(
  { before, after, of }: Step,
  { hub }: Pick<ClusterAccess, "hub">,
  signal: AbortSignal,
): Promise<HubAnswer> {
  const fields = fieldChanges({ spec: before.spec ?? {} }, { spec: after.spec });
  const action = fields.length === 0 ? "none" : "change";
  const unasked = (message: string): HubAnswer => ({ action, fields, message, component: after });
  if (of !== undefined) {
    const { kind, namespace, name } = of.set;
    return unasked(`${describe({ kind, namespace, name })} writes it`);
  }
  const answer = await askHub(after, hub, signal);
  const { message } = answer;
  if (answer.action !== "refused" || message === null) return answer;
  // Somebody else may have the right to change it.
  return message.includes(" cannot update resource ") ? unasked(message) : answer;
}

interface Found {
  readonly answer: HubAnswer;
  /** Undefined: the cluster could not be read. */
  readonly found: UpgradeLook | undefined;
  readonly settings: RenderSettings;
  readonly releases: Releases | undefined;
}

function itemOf(step: Step, { answer, ...known }: Found): PlanItem {
  const { found } = known;
  const { before, after } = step;
  const component = { ...after, status: before.status };
  const item = planItem({ answer: { ...answer, component }, duplicate: undefined }, found?.look);
  const facts = upgradeFacts(step, known);
  const judged = [...hubRefusals(answer), ...refusalsOf(facts)];
  const { blocked } = found?.look ?? { blocked: null };
  const refusals = [...judged, ...otherRefusals(blocked, judged)];
  const { hops, kubernetes, rights, storedVersions, set, target } = facts;
  return {
    ...item,
    version: { installed: facts.installed ?? null, wanted: found?.look.version ?? target },
    blocked: refusals[0] ?? null,
    upgrade: { hops, kubernetes, rights, storedVersions, set, refusals },
  };
}

function upgradeFacts(
  step: Step,
  { found, settings: { environment }, releases }: Omit<Found, "answer">,
): UpgradeFacts {
  const { before, of } = step;
  const { kubernetesVersion: cluster, rights, storedVersions } = found ?? nothingFound;
  return {
    kind: before.kind,
    installed: before.status?.version,
    ...wayOf(step, releases),
    environment,
    kubernetes: { cluster, minimum: minimumKubernetes(environment) },
    rights,
    storedVersions,
    set: of?.set ?? null,
  };
}

/** The target and the way to it. Without releases, nothing is held against the target. */
function wayOf(
  { before: { kind, status }, after }: Step,
  releases: Releases | undefined,
): Pick<UpgradeFacts, "target" | "isAtHand" | "available" | "hops"> {
  const wanted = after.spec?.version;
  if (releases === undefined) {
    return { target: wanted ?? "", isAtHand: true, available: undefined, hops: null };
  }
  const available = releases.versionsOf(kind);
  const target = targetVersion(wanted, available, kind);
  const isAtHand = isCustom(after) || available.includes(target);
  const installed = { kind, installed: status?.version };
  const hops = isAtHand ? hopsTo(installed, target, available) : null;
  return { target, isAtHand, available, hops };
}

const nothingFound = { kubernetesVersion: null, rights: null, storedVersions: null };

function hubRefusals({ action, message }: HubAnswer): readonly UpgradeRefusal[] {
  return action === "refused" ? [coded("Refused", message ?? "")] : [];
}

/** Why the cluster would refuse, where that is not known already. */
function otherRefusals(
  blocked: UpgradeLook["look"]["blocked"],
  known: readonly UpgradeRefusal[],
): readonly UpgradeRefusal[] {
  if (blocked === null || known.some(({ reason }) => reason === blocked.reason)) return [];
  return [coded(blocked.reason, blocked.message)];
}

function coded(reason: string, message: string): UpgradeRefusal {
  return { reason, code: knfOf(reason, { message }), message };
}
