import { ApiError, ifServed } from "../../../../access/kube/api-error.ts";
import type { KubeClient, ObjectRef } from "../../../../access/kube/kube-client.ts";
import { getProfile, ServedKind } from "../../../../access/kube/profile-versions.ts";
import {
  type ClusterProfile,
  clusterProfileApiVersion,
  isClusterProfile,
  isHealthy,
  isKeptByUs,
  leavingMessage,
} from "../../../../api/cluster-profile.ts";
import type { ClusterProfileRef } from "../../../../api/component.ts";
import { conditionOf } from "../../../../api/conditions.ts";
import { recordAt } from "../../../../api/fields.ts";
import { knfCodes, type KnfCode } from "../../../../api/knf/knf-codes.ts";
import { type Condition, describe, type KubeObject } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import type { ControllerDeployment } from "../../hub/find-controller.ts";
import { words } from "../../output/steps.ts";
import { stringAt } from "../../selection/fields.ts";
import { ifDenied } from "../../spokes/spoke-reading.ts";
import type { WalkContext } from "../walk.ts";
import { failed, finding, type HopResult, passed, passedWith } from "./hop.ts";

/** Reads the ClusterProfile of a target. */
export async function readProfile(
  ref: ClusterProfileRef,
  { hub }: WalkContext,
  signal: AbortSignal,
): Promise<HopResult<ClusterProfile>> {
  const title = describe({ kind: "ClusterProfile", ...ref });
  const list = "kubectl get clusterprofiles.multicluster.x-k8s.io -A";
  try {
    const found = await readStoredProfile(ref, hub, signal);
    if (found !== undefined && isClusterProfile(found)) {
      const { accessProviders, credentialProviders } = found.status ?? {};
      const names = [...(accessProviders ?? []), ...(credentialProviders ?? [])].map(
        ({ name }) => name,
      );
      return passed(found, `${title} offers ${names.length === 0 ? "nothing" : names.join(", ")}`);
    }
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 403) throw error;
    return failed("KNF2005", `${title} may not be read`, { evidence: [error.message] });
  }
  if (!(await areProfilesServed(hub, signal))) {
    return failed("KNF2001", "The hub does not serve ClusterProfiles");
  }
  return failed("KNF2002", `${title} does not exist`, { next: [list] });
}

async function areProfilesServed(hub: WalkContext["hub"], signal: AbortSignal): Promise<boolean> {
  const group = hub.request("GET", "/apis/multicluster.x-k8s.io", undefined, signal);
  return (await ifServed(group)) !== undefined;
}

const profilesType = "clusterprofiles.multicluster.x-k8s.io";

/** Checks the cluster manager's condition. The walk goes on in any case, because the spoke may be healthy all the same. */
export function checkHealth(profile: ClusterProfile): HopResult<ClusterProfile> {
  const condition = conditionOf(profile.status?.conditions, "ControlPlaneHealthy");
  const { namespace, name } = profile.metadata;
  const title = describe({ kind: "ClusterProfile", namespace, name });
  const next = [
    words("kubectl", "get", profilesType, name, "-n", namespace, "-o", "yaml"),
    `Ask ${managerOf(profile)} why.`,
  ];
  const leaving = leavingMessage(profile);
  if (leaving !== undefined) {
    const evidence = (profile.metadata.finalizers ?? []).map((one) => `finalizer ${one}`);
    const see = next.slice(0, 1);
    return passedWith(profile, leaving, {
      findings: [finding("error", "KNF2014", { message: leaving, evidence, next: see })],
    });
  }
  if (condition === undefined && isHealthy(profile)) {
    return passed(profile, "Joined=True; its manager says nothing of ControlPlaneHealthy");
  }
  if (condition === undefined) {
    const message = `${title} has no condition ControlPlaneHealthy`;
    return passedWith(profile, message, {
      findings: [finding("error", "KNF2004", { message, next })],
    });
  }
  const { status, reason = "", message: said = "" } = condition;
  const text = `ControlPlaneHealthy=${status} ${reason}`.trim();
  if (status === "True") return passed(profile, text);
  if (isKeptByUs(profile)) return ownCheck(profile, condition);
  const message = `${title} says ${text}`;
  const evidence = said === "" ? [] : [said];
  return passedWith(profile, message, {
    findings: [finding("error", "KNF2003", { message, evidence, next })],
  });
}

const knfOfOwnCheck: Readonly<Partial<Record<string, KnfCode>>> = {
  TLSUntrusted: "KNF4010",
  Unreachable: "KNF4009",
  EndpointInvalid: "KNF2006",
};

/** A health that knfleet's own controller wrote: what it met at the address, and not what a cluster manager knows. */
function ownCheck(
  profile: ClusterProfile,
  { status, reason = "", message: said = "" }: Condition,
): HopResult<ClusterProfile> {
  const { namespace, name } = profile.metadata;
  const code = Object.hasOwn(knfOfOwnCheck, reason) ? knfOfOwnCheck[reason] : undefined;
  const title = describe({ kind: "ClusterProfile", namespace, name });
  const text = `ControlPlaneHealthy=${status} ${reason}`.trim();
  const met = said === "" ? "" : `: ${said}`;
  const message = `knfleet's controller, which checks ${title} itself, says ${text}${met}`;
  const target = `clusterprofile/${name}`;
  const look = words(
    "kubectl",
    "knfleet",
    "diagnose",
    target,
    "-n",
    namespace,
    "--from",
    "controller",
  );
  const next =
    code === undefined
      ? [words("kubectl", "knfleet", "explain", reason === "" ? "ControlPlaneHealthy" : reason)]
      : [knfCodes[code].next, "Where the walk from here does not meet it, walk from there:", look];
  return passedWith(profile, message, {
    findings: [finding("error", code ?? "KNF2003", { message, next })],
  });
}

/** The cluster manager; the CRD allows an empty name. Spec: cluster-inventory.md 1.1. */
function managerOf({ spec }: ClusterProfile): string {
  const name = spec?.clusterManager?.name ?? "";
  return name === ""
    ? "whoever writes the status of the ClusterProfile"
    : `the cluster manager ${name}`;
}

/** Checks whether the upstream operator may still use an access provider that is no longer in the profile (cli.md, D4). */
export async function checkUpstream(
  profile: ClusterProfile,
  operator: ControllerDeployment,
  { hub, signal }: WalkContext & { readonly signal: AbortSignal },
): Promise<HopResult<true>> {
  const { namespace, name } = operator;
  const labels = recordAt(operator.object, "spec", "selector", "matchLabels");
  const labelSelector = Object.entries(labels)
    .map(([key, value]) => `${key}=${String(value)}`)
    .join(",");
  const ref = { resource: knownResource("v1", "Pod"), namespace, labelSelector };
  const pods = (await hub.list(ref, {}, signal)).items;
  const starts = pods.flatMap((pod) => stringAt(pod, "status", "startTime") ?? []).toSorted();
  const [first] = starts;
  const writtenTime = lastProviderWrite(profile);
  if (first === undefined || writtenTime === undefined || writtenTime <= first) {
    return passed(
      true,
      `Deployment ${namespace}/${name} started after the last change of the way in`,
    );
  }
  const message = `The way in was written at ${writtenTime}, the operator runs since ${first}`;
  return passedWith(true, message, {
    findings: [
      finding("warning", "KNF1014", {
        message,
        next: [words("kubectl", "rollout", "restart", `deployment/${name}`, "-n", namespace)],
      }),
    ],
  });
}

/** Time of the last write to `status.accessProviders`, RFC 3339. */
function lastProviderWrite({ metadata }: ClusterProfile): string | undefined {
  return (metadata.managedFields ?? [])
    .filter(({ fieldsV1 }) =>
      ["f:accessProviders", "f:credentialProviders"].some(
        (field) => field in recordAt(fieldsV1, "f:status"),
      ),
    )
    .flatMap(({ time }) => time ?? [])
    .toSorted()
    .at(-1);
}

/**
 * Reads an object; undefined when it does not exist. An identity that may list but not get, such as the controller for some kinds, finds it in a
 * list. Throws as the client does.
 */
export async function readStoredObject(
  { resource, namespace, name }: ObjectRef,
  client: KubeClient,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  try {
    return await client.get({ resource, namespace, name }, {}, signal);
  } catch (error) {
    return findInList({ resource, namespace, name }, { client, error }, signal);
  }
}

/** Reads a ClusterProfile in the version that the hub serves; otherwise as `readStoredObject`. */
async function readStoredProfile(
  ref: ClusterProfileRef,
  client: KubeClient,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  try {
    return await getProfile(client, ref, signal);
  } catch (error) {
    const resource = knownResource(clusterProfileApiVersion, "ClusterProfile");
    return findInList({ resource, ...ref }, { client: new ServedKind(client), error }, signal);
  }
}

async function findInList(
  { resource, namespace, name }: ObjectRef,
  { client, error }: { readonly client: Pick<KubeClient, "list">; readonly error: unknown },
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  if (!(error instanceof ApiError) || error.status !== 403) throw error;
  const fieldSelector = `metadata.name=${name}`;
  const found = await client
    .list({ resource, namespace, fieldSelector }, {}, signal)
    .catch(ifDenied);
  if (found === undefined) throw error;
  const { apiVersion, kind } = resource;
  const [object] = found.items;
  // Items of a list carry neither apiVersion nor kind.
  return object === undefined ? undefined : { ...object, apiVersion, kind };
}
