import type { ComponentKind } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import type { Manifest } from "../../api/kubernetes.ts";

/** Numbers of a version. `parts` says how many of them the text has. */
interface Version {
  readonly numbers: readonly [major: number, minor: number, patch: number];
  readonly parts: number;
  readonly prerelease: string;
}

// Go's semver, which upstream uses, accepts `1` and `1.2` too, but only a full version may have a suffix.
const pattern =
  /^v?(0|[1-9]\d*)(?:\.(0|[1-9]\d*)(?:\.(0|[1-9]\d*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?)?)?$/;

function parse(text: string): Version | undefined {
  const match = pattern.exec(text);
  if (match === null) return undefined;
  const [, major, minor, patch, prerelease = ""] = match;
  const given = [major, minor, patch].filter((number) => number !== undefined);
  return {
    numbers: [Number(major ?? 0), Number(minor ?? 0), Number(patch ?? 0)],
    parts: given.length,
    prerelease,
  };
}

/** Sorts versions from newest to oldest; what is not a version, such as `latest`, comes last. */
export function newestFirst(a: string, b: string): number {
  const left = parse(a);
  const right = parse(b);
  if (left === undefined || right === undefined) {
    if (left !== undefined) return -1;
    return right === undefined ? a.localeCompare(b) : 1;
  }
  for (const index of [0, 1, 2] as const) {
    const difference = right.numbers[index] - left.numbers[index];
    if (difference !== 0) return difference;
  }
  return byPrerelease(left.prerelease, right.prerelease);
}

/** `major.minor` of a version, the name itself where it is none. Spec: knative-operator.md 2.4. */
export function minorOf(version: string): string {
  const parsed = parse(version);
  return parsed === undefined ? version : `${parsed.numbers[0]}.${parsed.numbers[1]}`;
}

/**
 * Resolves `spec.version` to one of the available versions (newest first). Returns a version that is not available as
 * it was written. A leading `v` is accepted (D-35). Throws FleetError ReleaseNotFound when no version is available.
 * Spec: knative-operator.md 2.2.
 */
export function targetVersion(wanted: string | undefined, available: readonly string[]): string {
  if (wanted === undefined || wanted === "") return newestOf(available);
  const latest = latestOf(wanted, available);
  if (latest !== undefined) return latest;
  const plain = available.includes(wanted) ? wanted : withoutV(wanted);
  const parsed = parse(plain);
  if (parsed?.parts !== 2) return available.includes(plain) ? plain : wanted;
  return available.find((one) => parse(one) !== undefined && minorOf(one) === plain) ?? wanted;
}

/**
 * Resolves `spec.version` of a component with its own manifests, whose version no directory knows. An absent version
 * stays empty, and a minor stays a minor. Spec: knative-operator.md 2.2.
 */
export function customVersion(wanted: string | undefined, available: readonly string[]): string {
  if (wanted === undefined) return "";
  return latestOf(wanted, available) ?? (parse(wanted) === undefined ? wanted : withoutV(wanted));
}

/** Resolves `latest` in any case; undefined for another text. */
function latestOf(wanted: string, available: readonly string[]): string | undefined {
  if (wanted.toLowerCase() !== "latest") return undefined;
  return wanted === "latest" && available.includes(wanted) ? wanted : newestOf(available);
}

function newestOf([newest]: readonly string[]): string {
  if (newest !== undefined) return newest;
  throw new FleetError("ReleaseNotFound", "The release directory holds no version of this kind");
}

/** A version without the `v` in front of it. */
export function withoutV(version: string): string {
  return version.replace(/^v(?=\d)/, "");
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
  const to = parse(target);
  if (to === undefined) {
    throw notEligible(
      `target version ${tagOf(target)} is not in a valid semantic versioning format`,
    );
  }
  if (to.parts < 2) {
    throw notEligible(
      `target version ${tagOf(target)} should at least include the major and minor numbers`,
    );
  }
  if (installed === undefined || installed === "" || installed === "latest") return;
  const is = `The installed ${kind} version is ${tagOf(installed)}`;
  const distance = distanceOf(parse(installed), to);
  if (distance === "major") {
    throw notEligible(`not supported to upgrade or downgrade across the MAJOR version. ${is}`);
  }
  if (distance === "minors") {
    throw notEligible(
      `not supported to upgrade or downgrade across multiple MINOR versions. ${is}`,
    );
  }
}

function distanceOf(from: Version | undefined, to: Version): "major" | "minors" | "near" {
  const [fromMajor, fromMinor] = from?.numbers ?? [-1, 0];
  const [toMajor, toMinor] = to.numbers;
  if (fromMajor !== toMajor) {
    const ends = [`${fromMajor}.${fromMinor}`, `${toMajor}.${toMinor}`].toSorted();
    return ends.join(" ") === "0.26 1.0" ? "near" : "major";
  }
  return Math.abs(fromMinor - toMinor) < 2 ? "near" : "minors";
}

function notEligible(message: string): FleetError {
  return new FleetError("VersionNotEligible", message);
}

/** A version with the leading `v` that upstream's messages show. */
function tagOf(version: string): string {
  return version.startsWith("v") ? version : `v${version}`;
}

/** Semver 11: a release is newer than its pre-releases; identifiers compare one by one, numbers below words. */
function byPrerelease(left: string, right: string): number {
  if (left === right) return 0;
  if (left === "" || right === "") return left === "" ? -1 : 1;
  const a = left.split(".");
  const b = right.split(".");
  for (const [index, one] of a.entries()) {
    const other = b[index];
    if (other === undefined) return -1;
    if (one !== other) return newerIdentifierFirst(one, other);
  }
  return 1;
}

function newerIdentifierFirst(one: string, other: string): number {
  const numeric = /^\d+$/;
  if (numeric.test(one) && numeric.test(other)) return Number(other) - Number(one);
  if (numeric.test(one) !== numeric.test(other)) return numeric.test(one) ? 1 : -1;
  return one < other ? 1 : -1;
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

const minVersionVariable = "KUBERNETES_MIN_VERSION";
// Built into the Knative releases of the bundle. Spec: knative-operator.md 2.8.
const usualMinimum = "v1.34.0";

/**
 * Throws FleetError KubernetesVersionTooOld when a cluster is older than `KUBERNETES_MIN_VERSION` of the controller's
 * environment, or than what Knative demands where that is empty. A pre-release of the least version passes, and so does a
 * version that cannot be read, because Knative checks again when it starts. FleetError ConfigInvalid when that holds no
 * version. Spec: knative-operator.md 2.8; upstream looks at the hub only (D-31).
 */
export function assertKubernetesVersion(
  kubernetesVersion: string,
  environment: Readonly<Record<string, string | undefined>>,
): void {
  const configured = environment[minVersionVariable] ?? "";
  const minimum = configured === "" ? usualMinimum : configured;
  const least = kubernetesNumbersOf(minimum);
  if (least === undefined) {
    throw new FleetError(
      "ConfigInvalid",
      `${minVersionVariable} is ${minimum}, which is not a version`,
    );
  }
  const actual = kubernetesNumbersOf(kubernetesVersion);
  if (actual === undefined || !isBefore(actual, least)) return;
  throw new FleetError(
    "KubernetesVersionTooOld",
    `The cluster runs Kubernetes ${kubernetesVersion}, at least ${minimum} is needed`,
  );
}

// What follows the numbers is a pre-release or the name of a distribution, such as -gke.100 or +k3s1.
function kubernetesNumbersOf(version: string): string | undefined {
  const match = /^v?(\d+)\.(\d+)(?:\.(\d+))?(?:[-+].*)?$/.exec(version.trim());
  if (match === null) return undefined;
  const [, major, minor, patch = "0"] = match;
  return [major, minor, patch].join(".");
}

function isBefore(left: string, right: string): boolean {
  return left.localeCompare(right, "en", { numeric: true }) < 0;
}
