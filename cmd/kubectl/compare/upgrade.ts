import type { ComponentKind } from "../../../api/component.ts";
import { FleetError } from "../../../api/errors.ts";
import { isRecord, listAt, recordAt, textAt } from "../../../api/fields.ts";
import type { FleetSetKind } from "../../../api/fleet-set.ts";
import type { KnfCode } from "../../../api/knf/knf-codes.ts";
import type { Manifest } from "../../../api/kubernetes.ts";
import type { Code, Reason } from "../../../api/reasons.ts";
import {
  assertKubernetesVersion,
  newestFirst,
  unavailable,
} from "../../../render/release/version.ts";
import { type InstalledVersion, refusedStep } from "../../../sets/version-step.ts";
import type { PlanAction } from "../hub/rollout-plan.ts";
import { knfOf } from "../output/knf-of.ts";
import type { Reviewed } from "../rights/access-review.ts";
import { resourceName } from "../rights/permissions.ts";

/** The upgrade of one component to a version. What is unknown because its cluster could not be read is null. */
export interface Upgrade {
  /** The legal versions on the way; the last is the wanted one. Empty: it is installed. Null: there is no way with the releases at hand. */
  readonly hops: readonly string[] | null;
  readonly kubernetes: {
    /** Version of the cluster. */
    readonly cluster: string | null;
    /** The oldest version that the release accepts. */
    readonly minimum: string;
  };
  readonly rights: UpgradeRights | null;
  /** The CRDs with objects that are stored in another version than the one in which the release stores them. */
  readonly storedVersions: readonly StoredVersions[] | null;
  /** The set that has stamped the component. */
  readonly set: UpgradeSet | null;
  /** Everything that stands in the way. */
  readonly refusals: readonly UpgradeRefusal[];
}

/** The rights of the identity on a spoke, for one version. */
export interface UpgradeRights {
  readonly user: string;
  /** Number of verbs. */
  readonly needed: number;
  readonly missing: readonly MissingRight[];
}

interface MissingRight extends Pick<Reviewed, "group" | "resource" | "purpose"> {
  readonly verbs: readonly string[];
}

/** A CRD whose `status.storedVersions` names another version than the one that the release stores. */
export interface StoredVersions {
  readonly name: string;
  readonly stored: readonly string[];
  /** The version in which the release stores objects. */
  readonly storage: string | null;
  /** Stored versions that the release does not have: the API server refuses such a CRD. */
  readonly dropped: readonly string[];
}

/** The set of a component, and what its rollout would do with the cluster. */
export interface UpgradeSet {
  readonly kind: FleetSetKind;
  readonly namespace: string;
  readonly name: string;
  readonly stage: string | null;
  /** As for `rollout plan`; null when the set could not be read. */
  readonly action: PlanAction | null;
  readonly message: string | null;
}

/** Why a component would not be upgraded. */
export interface UpgradeRefusal {
  /** A reason or code of docs/reasons.md, or `Refused` by the hub. */
  readonly reason: string;
  readonly code: KnfCode | null;
  readonly message: string;
}

/**
 * The versions of an upgrade or downgrade, one minor at a time, each the available one that is nearest to the target; null without such a way. `target` itself
 * may be unavailable. Pure.
 */
export function hopsTo(
  { kind, installed = "" }: InstalledVersion,
  target: string,
  available: readonly string[],
): readonly string[] | null {
  if (installed === target) return [];
  const isUp = newestFirst(target, installed) < 0;
  const between = available
    .filter((one) => isNewer(one, installed) === isUp && isNewer(target, one) === isUp)
    .toSorted((a, b) => (isUp ? newestFirst(a, b) : newestFirst(b, a)));
  const hops: string[] = [];
  let at = installed;
  while (refusedStep({ kind, installed: at }, target) !== undefined) {
    const passed = at;
    const next = between.find(
      (one) =>
        isNewer(one, passed) === isUp &&
        one !== passed &&
        refusedStep({ kind, installed: passed }, one) === undefined,
    );
    if (next === undefined) return null;
    hops.push(next);
    at = next;
  }
  return [...hops, target];
}

function isNewer(a: string, b: string): boolean {
  return newestFirst(a, b) < 0;
}

/** Compares the stored versions of live CRDs with the versions of the CRDs that a release brings. Pure. */
export function storedVersionsOf(
  wanted: readonly Manifest[],
  live: ReadonlyMap<string, object>,
): readonly StoredVersions[] {
  return wanted.flatMap((manifest) => {
    const { name = "" } = manifest.metadata;
    const found = live.get(name);
    if (found === undefined) return [];
    const stored = listAt(recordAt(found, "status"), "storedVersions").filter(isText);
    const versions = listAt(recordAt(manifest, "spec"), "versions").filter(isRecord);
    const names = new Set(versions.map((one) => textAt(one, "name")));
    const storing = versions.find((one) => one["storage"] === true);
    const storage = storing === undefined ? null : (textAt(storing, "name") ?? null);
    const dropped = stored.filter((one) => !names.has(one));
    return stored.every((one) => one === storage) ? [] : [{ name, stored, storage, dropped }];
  });
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** Counts the needed rights, and keeps the missing ones. Pure. */
export function upgradeRights(user: string, reviewed: readonly Reviewed[]): UpgradeRights {
  const needed = reviewed.reduce((sum, one) => sum + one.allowed.length + one.missing.length, 0);
  const missing = reviewed.flatMap(({ group, resource, purpose, missing: verbs }) =>
    verbs.length === 0 ? [] : [{ group, resource, verbs, purpose }],
  );
  return { user, needed, missing };
}

/** What is known of an upgrade before it is judged. */
export interface UpgradeFacts extends Omit<Upgrade, "refusals"> {
  readonly kind: ComponentKind;
  readonly installed: string | undefined;
  readonly target: string;
  /** Whether the release of `target` is at hand. */
  readonly isAtHand: boolean;
  /** The versions whose releases are at hand, newest first; undefined: nobody looked, or there are no releases. */
  readonly available: readonly string[] | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Everything that the version rule, the cluster and its rights have against an upgrade. Pure. */
export function refusalsOf(facts: UpgradeFacts): readonly UpgradeRefusal[] {
  return [...hopRefusals(facts), ...kubernetesRefusals(facts), ...spokeRefusals(facts)];
}

function hopRefusals({
  kind,
  installed,
  target,
  isAtHand,
  available,
  hops,
}: UpgradeFacts): readonly UpgradeRefusal[] {
  const message = refusedStep({ kind, installed }, target);
  const way =
    hops === null ? ". The releases at hand know no way" : `. The way is ${hops.join(", then ")}`;
  const told = available === undefined ? "" : way;
  return [
    ...(message === undefined ? [] : [refusal("VersionNotEligible", `${message}${told}`)]),
    ...(isAtHand ? [] : [refusal("ReleaseNotFound", unavailable(target, available ?? []))]),
  ];
}

function kubernetesRefusals({
  kubernetes: { cluster },
  environment,
}: UpgradeFacts): readonly UpgradeRefusal[] {
  if (cluster === null) return [];
  try {
    assertKubernetesVersion(cluster, environment);
    return [];
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    return [refusal(error.reason, error.message)];
  }
}

function spokeRefusals({ rights, storedVersions }: UpgradeFacts): readonly UpgradeRefusal[] {
  // Without the other rights an installation works, but explains less, or its anchor is not protected.
  const missing = (rights?.missing ?? []).filter(({ purpose }) => purpose === "install");
  const lacking = missing.map((one) => `${one.verbs.join(",")} ${resourceName(one)}`);
  const dropped = (storedVersions ?? []).filter((one) => one.dropped.length > 0);
  return [
    ...(missing.length === 0
      ? []
      : [refusal("Forbidden", `${rights?.user ?? ""} may not ${firstOf(lacking)}`)]),
    ...dropped.map(({ name, dropped: versions }) =>
      refusal(
        "ApplyFailed",
        `CustomResourceDefinition ${name} has objects stored as ${versions.join(", ")}, which the release does not have`,
      ),
    ),
  ];
}

function refusal(reason: Reason | Code, message: string): UpgradeRefusal {
  return { reason, code: knfOf(reason, { message }), message };
}

const shown = 3;

function firstOf(texts: readonly string[]): string {
  const more = texts.length > shown ? ` and ${texts.length - shown} more` : "";
  return `${texts.slice(0, shown).join("; ")}${more}`;
}
