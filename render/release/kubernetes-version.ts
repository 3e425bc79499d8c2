import { FleetError } from "../../api/errors.ts";

const variable = "KUBERNETES_MIN_VERSION";
// Built into the Knative releases of the bundle. Spec: knative-operator.md 2.8.
const usualMinimum = "v1.34.0";

/**
 * Throws FleetError KubernetesVersionTooOld when a cluster is older than `KUBERNETES_MIN_VERSION` of the controller's
 * environment, or than what Knative demands where that is empty. A pre-release of the least version passes, and so does a
 * version that cannot be read, because Knative checks again when it starts. FleetError ConfigInvalid when the variable holds no
 * version. Spec: knative-operator.md 2.8; upstream looks at the hub only (D-31).
 */
export function assertKubernetesVersion(
  kubernetesVersion: string,
  environment: Readonly<Record<string, string | undefined>>,
): void {
  const configured = environment[variable] ?? "";
  const minimum = configured === "" ? usualMinimum : configured;
  const least = numbersOf(minimum);
  if (least === undefined) {
    throw new FleetError("ConfigInvalid", `${variable} is ${minimum}, which is not a version`);
  }
  const actual = numbersOf(kubernetesVersion);
  if (actual === undefined || !isBefore(actual, least)) return;
  throw new FleetError(
    "KubernetesVersionTooOld",
    `The cluster runs Kubernetes ${kubernetesVersion}, at least ${minimum} is needed`,
  );
}

type Numbers = readonly [major: number, minor: number, patch: number];

// What follows the numbers is a pre-release or the name of a distribution, such as -gke.100 or +k3s1.
function numbersOf(version: string): Numbers | undefined {
  const match = /^v?(\d+)\.(\d+)(?:\.(\d+))?(?:[-+.].*)?$/.exec(version.trim());
  if (match === null) return undefined;
  const [, major, minor, patch] = match;
  return [Number(major), Number(minor), Number(patch ?? 0)];
}

function isBefore(left: Numbers, right: Numbers): boolean {
  for (const index of [0, 1, 2] as const) {
    if (left[index] !== right[index]) return left[index] < right[index];
  }
  return false;
}
