import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import { UsageError } from "../../errors.ts";
import {
  accountOf,
  accountsOf,
  type ControllerDeployment,
  flavourOf,
  roleOf,
} from "../../hub/find-controller.ts";
import { words } from "../../output/steps.ts";
import {
  isOfRelease,
  isOfUpstreamChart,
  leftObject,
  listHelmRecords,
  listReleaseObjects,
  releaseOf,
} from "./helm-release.ts";
import type { HelmRelease, LeftObject } from "./migration-facts.ts";

interface LeftReading {
  readonly hub: KubeClient;
  /** Undefined: it is gone, or never was. */
  readonly operator: ControllerDeployment | undefined;
  /** All ClusterRoleBindings. */
  readonly bindings: readonly KubeObject[];
  /** The record of the migration; undefined: none. */
  readonly record: KubeObject | undefined;
}

/**
 * Reads what upstream's operator has on the hub, in the order of its removal: what else its Helm release has made, its Deployments, Helm's record, and its
 * ClusterRoleBindings. The last ones prove what the others are, so a removal that was interrupted still knows what is left. CRDs are never among them. Throws
 * the errors of KubeClient, and UsageError for a Helm release that is not proven to be upstream's.
 */
export async function readLeft(
  { hub, operator, bindings, record }: LeftReading,
  signal: AbortSignal,
): Promise<readonly LeftObject[]> {
  const release = upstreamRelease(bindings);
  const deployments =
    operator === undefined ? [] : await readDeployments(operator, { hub, bindings }, signal);
  // Without the operator nobody could tell any more that its namespace is a place for the record.
  const isBeside = record !== undefined && record.metadata.namespace === operator?.namespace;
  const records = isBeside ? [leftObject({ ...record, apiVersion: "v1", kind: "ConfigMap" })] : [];
  if (release === null) return [...records, ...deployments];
  const revisions = await listHelmRecords(release, hub, signal);
  const proving = bindings.filter(
    (binding) => flavourOf(binding) === "upstream" && isOfRelease(binding, release),
  );
  const proofs = proving.map((binding) => leftObject({ ...binding, ...bindingKind }));
  if (!(await isProven(release, { operator, proving, revisions }))) {
    if (operator !== undefined) throw unprovenRelease(release, operator);
    // Helm has forgotten the release, and its operator is gone: nothing else can be told to be of it.
    return revisions.length === 0 ? proofs : [];
  }
  const last = [...records, ...deployments, ...revisions.map(leftObject), ...proofs];
  const uids = new Set(last.map(({ uid }) => uid));
  const others = await listReleaseObjects(release, hub, signal);
  return [...others.filter(({ uid }) => !uids.has(uid)), ...last];
}

const bindingKind = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRoleBinding",
};

/** The Helm release of upstream's operator, as its ClusterRoleBindings say; null: Helm did not install it. */
export function upstreamRelease(bindings: readonly KubeObject[]): HelmRelease | null {
  const own = bindings.filter((binding) => flavourOf(binding) === "upstream");
  return own.map(releaseOf).find((release) => release !== null) ?? null;
}

const deploymentKind = { apiVersion: "apps/v1", kind: "Deployment" };
const webhookRole = "knative-operator-webhook";

/** The Deployments of the operator and of its webhook, which is known by its ClusterRoleBinding, too. */
async function readDeployments(
  { namespace, object }: ControllerDeployment,
  { hub, bindings }: Pick<LeftReading, "hub" | "bindings">,
  signal: AbortSignal,
): Promise<readonly LeftObject[]> {
  const resource = knownResource(deploymentKind.apiVersion, deploymentKind.kind);
  const webhook = await hub.get({ resource, namespace, name: "operator-webhook" }, {}, signal);
  const accounts = bindings
    .filter((binding) => roleOf(binding) === webhookRole)
    .flatMap(accountsOf);
  const all = webhook !== undefined && accounts.includes(accountOf(webhook)) ? [webhook] : [];
  return [...all, object].map((one) => leftObject({ ...one, ...deploymentKind }));
}

interface Proof extends Pick<LeftReading, "operator"> {
  readonly proving: readonly KubeObject[];
  readonly revisions: readonly KubeObject[];
}

/** Whether a release is in the namespace of the operator, and every revision of it is of upstream's chart. */
async function isProven(
  release: HelmRelease,
  { operator, proving, revisions }: Proof,
): Promise<boolean> {
  const places = proving.flatMap(accountsOf).map((account) => account.split("/")[0]);
  const isThere =
    operator === undefined
      ? places.length > 0 && places.every((place) => place === release.namespace)
      : operator.namespace === release.namespace;
  if (!isThere || revisions.length === 0) return false;
  const answers = await Promise.all(revisions.map((one) => isOfUpstreamChart(one, release)));
  return answers.every(Boolean);
}

function unprovenRelease(
  release: HelmRelease,
  { namespace, name }: ControllerDeployment,
): UsageError {
  return new UsageError(
    `Deployment ${namespace}/${name} is said to be of the Helm release ${release.namespace}/${release.name}, but Helm has no record of upstream's chart for it in namespace ${namespace}: nothing of that release is deleted`,
    [
      "Delete upstream's operator by hand, and not with Helm, which would delete the CRDs; then run the command again:",
      words("kubectl", "delete", "deployment", name, "operator-webhook", "-n", namespace),
    ],
  );
}
