import type { SemVer } from "semver";
import parse from "semver/functions/parse.js";

import { type Component, type ComponentKind, withoutV } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import { releaseMissing } from "../../api/sentences.ts";

/** Parses a version with or without `v`. As in Go's semver, which upstream uses, `1` and `1.2` are versions too, and spaces are refused. */
function parseVersion(text: string): SemVer | null {
  if (/\s/.test(text)) return null;
  return parse(isMajor(text) ? `${text}.0.0` : isMinor(text) ? `${text}.0` : text);
}

function isMajor(text: string): boolean {
  return /^v?\d+$/.test(text);
}

function isMinor(text: string): boolean {
  return /^v?\d+\.\d+$/.test(text);
}

/** Sorts versions from newest to oldest; what is not a version, such as `latest`, comes last. */
export function newestFirst(a: string, b: string): number {
  const left = parseVersion(a);
  const right = parseVersion(b);
  if (left !== null && right !== null) return right.compare(left);
  if (left === null && right === null) return a.localeCompare(b);
  return left === null ? 1 : -1;
}

/** `major.minor` of a version, the name itself where it is none. Spec: knative-operator.md 2.4. */
export function minorOf(version: string): string {
  const parsed = parseVersion(version);
  return parsed === null ? version : `${parsed.major}.${parsed.minor}`;
}

/**
 * Resolves `spec.version` to one of the available versions of the kind (newest first). Returns a version that is not available as
 * it was written. A leading `v` is accepted (D-35). Throws FleetError ReleaseNotFound when no version is available.
 * Spec: knative-operator.md 2.2.
 */
export function targetVersion(
  wanted: string | undefined,
  available: readonly string[],
  kind: ComponentKind,
): string {
  if (wanted === undefined || wanted === "") return newestOf(available, kind);
  const latest = latestOf(wanted, available, kind);
  if (latest !== undefined) return latest;
  const plain = available.includes(wanted) ? wanted : withoutV(wanted);
  const found = available.find((one) => (isMinor(plain) ? minorOf(one) : one) === plain);
  return found ?? wanted;
}

/**
 * Resolves `spec.version` of a component with its own manifests, whose version no directory knows. An absent version
 * stays empty, and a minor stays a minor. Spec: knative-operator.md 2.2.
 */
export function customVersion(
  wanted: string | undefined,
  available: readonly string[],
  kind: ComponentKind,
): string {
  if (wanted === undefined) return "";
  const latest = latestOf(wanted, available, kind);
  return latest ?? (parseVersion(wanted) === null ? wanted : withoutV(wanted));
}

/** Resolves `latest` in any case; undefined for another text. */
function latestOf(
  wanted: string,
  available: readonly string[],
  kind: ComponentKind,
): string | undefined {
  if (wanted.toLowerCase() !== "latest") return undefined;
  return wanted === "latest" && available.includes(wanted) ? wanted : newestOf(available, kind);
}

function newestOf([newest]: readonly string[], kind: ComponentKind): string {
  if (newest !== undefined) return newest;
  throw new FleetError("ReleaseNotFound", releaseMissing.version.of(kind));
}

const named = 8;

/**
 * Says that a version is not available, and which ones are. The beginning equals upstream's sentence, because programs look for it in conditions.
 */
export function unavailable(version: string, available: readonly string[]): string {
  const known = available.length === 0 ? "none" : available.slice(0, named).join(", ");
  const target = version.slice(0, 64);
  return `${releaseMissing.target.of(target)}; it has ${known}`;
}

/** Facts that decide about a migration. */
export interface Migration {
  readonly kind: ComponentKind;
  /** `status.version`; absent or empty before the first complete installation. */
  readonly installed: string | undefined;
  readonly target: string;
}

/**
 * Throws FleetError VersionNotEligible when the target is no version or too far from the installed one. The texts are
 * upstream's, with the kind that is meant. Spec: knative-operator.md 2.3.
 */
export function assertEligible({ kind, installed, target }: Migration): void {
  if (target === "latest") return;
  const to = parseVersion(target);
  if (to === null) {
    throw notEligible(
      `target version ${tagOf(target)} is not in a valid semantic versioning format`,
    );
  }
  if (isMajor(target)) {
    throw notEligible(
      `target version ${tagOf(target)} should at least include the major and minor numbers`,
    );
  }
  if (installed === undefined || installed === "" || installed === "latest") return;
  const is = `The installed ${kind} version is ${tagOf(installed)}`;
  const distance = distanceOf(parseVersion(installed), to);
  if (distance === "major") {
    throw notEligible(`not supported to upgrade or downgrade across the MAJOR version. ${is}`);
  }
  if (distance === "minors") {
    throw notEligible(
      `not supported to upgrade or downgrade across multiple MINOR versions. ${is}`,
    );
  }
}

/** Why the controller refuses the version of a component, whichever releases there are; `migrationRefusal` with what the component says. */
export function versionRefusal({ kind, spec, status }: Component): FleetError | undefined {
  return migrationRefusal({ kind, installed: status?.version, target: spec?.version ?? "" });
}

/** The error of `assertEligible`. Undefined without an error, and for `latest` and an empty target, which name no version. */
export function migrationRefusal(migration: Migration): FleetError | undefined {
  const { target } = migration;
  if (target === "" || target.toLowerCase() === "latest") return undefined;
  try {
    assertEligible(migration);
    return undefined;
  } catch (error) {
    if (error instanceof FleetError) return error;
    throw error;
  }
}

function distanceOf(from: SemVer | null, to: SemVer): "major" | "minors" | "near" {
  if (from?.major !== to.major) {
    const ends = [from, to].map((end) => `${end?.major}.${end?.minor}`).toSorted();
    return ends.join(" ") === "0.26 1.0" ? "near" : "major";
  }
  return Math.abs(from.minor - to.minor) < 2 ? "near" : "minors";
}

function notEligible(message: string): FleetError {
  return new FleetError("VersionNotEligible", message);
}

/** A version with the leading `v` that upstream's messages show. */
function tagOf(version: string): string {
  return version.startsWith("v") ? version : `v${version}`;
}

/**
 * Throws FleetError ManifestInvalid when an object's label `app.kubernetes.io/version` names another minor version than the
 * target; objects without the label pass. Spec: knative-operator.md 2.4.
 */
export function assertVersionLabels(manifests: readonly Manifest[], target: string): void {
  if (target === "latest") return;
  for (const manifest of manifests) {
    const label = manifest.metadata.labels?.["app.kubernetes.io/version"];
    if (label === undefined || minorOf(label) === minorOf(target)) continue;
    throw new FleetError(
      "ManifestInvalid",
      `the version of the manifests ${tagOf(label)} of the component ${manifest.metadata.name ?? ""} does not match the target version of the operator CR ${tagOf(target)}`,
    );
  }
}

/** The variable of the controller's environment that names the oldest Kubernetes. */
export const minVersionVariable = "KUBERNETES_MIN_VERSION";
// Built into the Knative releases of the bundle. Spec: knative-operator.md 2.8.
const usualMinimum = "v1.34.0";

/** The oldest Kubernetes that a release accepts: `KUBERNETES_MIN_VERSION` of the controller's environment, or what Knative demands where that is empty. */
export function minimumKubernetes(
  environment: Readonly<Record<string, string | undefined>>,
): string {
  const configured = environment[minVersionVariable] ?? "";
  return configured === "" ? usualMinimum : configured;
}

/**
 * Throws FleetError KubernetesVersionTooOld when a cluster is older than `minimumKubernetes`. A pre-release of the least version passes, and so does a
 * version that cannot be read, because Knative checks again when it starts. FleetError ConfigInvalid when that holds no
 * version. Spec: knative-operator.md 2.8; upstream looks at the hub only (D-31).
 */
export function assertKubernetesVersion(
  kubernetesVersion: string,
  environment: Readonly<Record<string, string | undefined>>,
): void {
  const minimum = minimumKubernetes(environment);
  const least = parseVersion(minimum.trim());
  if (least === null) {
    throw new FleetError(
      "ConfigInvalid",
      `${minVersionVariable} is ${minimum}, which is not a version`,
    );
  }
  const actual = parseVersion(kubernetesVersion);
  // The suffix is a pre-release or the name of a distribution, such as -gke.100 or +k3s1.
  if (actual === null || actual.compareMain(least) >= 0) return;
  throw new FleetError(
    "KubernetesVersionTooOld",
    `The cluster runs Kubernetes ${kubernetesVersion}, at least ${minimum} is needed`,
  );
}
