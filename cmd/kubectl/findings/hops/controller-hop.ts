import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import type { ClusterProfileRef } from "../../../../api/component.ts";
import type { Part } from "../../../../api/shards.ts";
import {
  type ControllerDeployment,
  type Controllers,
  findControllers,
  severalSteps,
  severalText,
  soleController,
} from "../../hub/find-controller.ts";
import {
  type ControllerLease,
  isHeldAt,
  partsText,
  type Serving,
  servedBy,
  servingOf,
  workLease,
} from "../../hub/replicas.ts";
import { words } from "../../output/steps.ts";
import { finding, type Finding, type HopResult, passed, passedWith } from "./hop.ts";

/** Finds the active controller: a held Lease proves one, an available Deployment makes one likely. `timeMs`: of the hub's clock. */
export async function findController(
  hub: KubeClient,
  timeMs: number,
  signal: AbortSignal,
): Promise<HopResult<Controllers>> {
  const found = await findControllers(hub, signal);
  const { deployments = [], leases } = found;
  const serving = servingOf(leases ?? [], timeMs);
  const leaseLines = serving?.parts.map((part) => leaseText(part, serving, timeMs)) ?? [];
  const evidence = [...deployments.map(deploymentText), ...leaseLines];
  const working = activeControllerText(deployments, serving, timeMs);
  const ours = soleController(deployments, "knfleet");
  const several = severalFindings(deployments);
  if (working !== undefined) {
    const unserved = unservedFindings(serving, ours, timeMs);
    const findings = [...unserved, ...readinessFindings(ours), ...several];
    return passedWith(found, working, { evidence, findings });
  }
  const what = serving === undefined ? evidence[0] : idleText(serving, timeMs);
  if (what !== undefined) {
    const more = { message: what, evidence, next: restartSteps(likelyOf(deployments)) };
    // Without the right to read Leases, a controller elsewhere may hold one.
    const dead =
      leases === undefined
        ? finding("warning", "KNF1007", more)
        : finding("error", "KNF1005", more);
    return passedWith(found, what, { evidence, findings: [dead, ...several] });
  }
  const mayNotLook = found.deployments === undefined || leases === undefined;
  const message = mayNotLook
    ? "Leases, Deployments or ClusterRoleBindings of the hub may not be listed"
    : "Neither a Lease nor a Deployment of a controller is on the hub";
  // Nothing was found with all rights, so more rights would not help.
  const next = mayNotLook ? [] : [startOne];
  return passedWith(found, message, {
    findings: [finding("warning", "KNF1006", { message, next })],
  });
}

const startOne =
  "Start a controller; one that runs elsewhere, without a Lease on this hub, cannot be seen from here.";

/** The active controller in a few words; undefined without one. */
function activeControllerText(
  deployments: readonly ControllerDeployment[],
  serving: Serving | undefined,
  timeMs: number,
): string | undefined {
  if (serving !== undefined && serving.holders.size > 0) {
    const { namespace, shards, holders } = serving;
    if (shards === 1) return leaseText(0, serving, timeMs);
    const served = [...holders.keys()].filter((part) => part !== "fleet").length;
    const replicas = new Set(holders.values()).size;
    const some = replicas === 1 ? "1 replica serves" : `${replicas} replicas serve`;
    return `${some} ${served} of ${shards} shards, by Leases in namespace ${namespace}`;
  }
  // The upstream operator has Leases of its own; a Lease of ours may be left over.
  const running = deployments.find(
    ({ available, flavour }) => available > 0 && (serving === undefined || flavour === "upstream"),
  );
  return running === undefined ? undefined : deploymentText(running);
}

function idleText(serving: Serving, timeMs: number): string {
  const { namespace, shards } = serving;
  if (shards === 1) return leaseText(0, serving, timeMs);
  return `No replica holds the Lease of any of ${shards} shards in namespace ${namespace}`;
}

/** Warns of parts of the fleet that nobody serves while others are served. */
function unservedFindings(
  serving: Serving | undefined,
  deployment: ControllerDeployment | undefined,
  timeMs: number,
): readonly Finding[] {
  if (serving === undefined || serving.holders.size === 0) return [];
  const unserved = serving.parts.filter((part) => !serving.holders.has(part));
  if (unserved.length === 0) return [];
  return [
    finding("warning", "KNF1005", {
      message: `No replica serves ${partsText(unserved, serving.shards)}`,
      evidence: unserved.map((part) => leaseText(part, serving, timeMs)),
      next: podSteps(serving, deployment),
    }),
  ];
}

/** Checks whether a replica serves the shard of a cluster; undefined: the hub as a target. */
export function checkReplica(
  cluster: ClusterProfileRef | undefined,
  serving: Serving,
  { deployments = [], timeMs }: Pick<Controllers, "deployments"> & { readonly timeMs: number },
): HopResult<true> {
  const { shard, name: replica } = servedBy(cluster ?? null, serving);
  const which = partsText([shard], serving.shards);
  const lease = leaseText(shard, serving, timeMs);
  if (replica !== null) return passed(true, `${replica} serves ${which}`, [lease]);
  const message = `No replica serves ${which}, to which the cluster belongs: ${lease}`;
  const ours = soleController(deployments, "knfleet");
  const next = podSteps(serving, ours);
  return passedWith(true, message, {
    findings: [finding("error", "KNF1005", { message, evidence: [lease], next })],
  });
}

/** Warns of several Deployments that may be one controller: nothing is read off one of them. Security: T-16. */
function severalFindings(deployments: readonly ControllerDeployment[]): readonly Finding[] {
  return (["knfleet", "upstream"] as const).flatMap((flavour) => {
    const message = severalText(deployments, flavour);
    return message === undefined
      ? []
      : [finding("warning", "KNF1027", { message, next: severalSteps })];
  });
}

function readinessFindings(deployment: ControllerDeployment | undefined): readonly Finding[] {
  if (deployment === undefined || deployment.available >= deployment.wanted) return [];
  const message = deploymentText(deployment);
  return [finding("warning", "KNF1007", { message, next: restartSteps(deployment) })];
}

function deploymentText({ namespace, name, available, wanted }: ControllerDeployment): string {
  return `Deployment ${namespace}/${name} has ${available} of ${wanted} available`;
}

function leaseText(part: Part, { namespace, shards, leases }: Serving, timeMs: number): string {
  const text = `Lease ${namespace}/${workLease(part, shards)}`;
  const lease = leases.get(part);
  return lease === undefined ? `${text} does not exist` : `${text} ${stateText(lease, timeMs)}`;
}

function stateText(lease: ControllerLease, timeMs: number): string {
  if (lease.holder === "") return "was let go";
  const age = Math.max(0, Math.round((timeMs - lease.renewedAtMs) / 1_000));
  const over = isHeldAt(lease, timeMs) ? "" : " and has run out";
  return `is held by ${lease.holder}, renewed ${age} s ago${over}`;
}

/** Where several replicas work, one look at all pods says which of them is missing. */
function podSteps(
  { namespace }: Serving,
  deployment: ControllerDeployment | undefined,
): readonly string[] {
  return [words("kubectl", "get", "pods", "-n", namespace), ...restartSteps(deployment)];
}

/** The controller to start; undefined: none is known, or several may be it. */
function likelyOf(deployments: readonly ControllerDeployment[]): ControllerDeployment | undefined {
  return soleController(deployments, "knfleet") ?? soleController(deployments, "upstream");
}

function restartSteps(deployment: ControllerDeployment | undefined): readonly string[] {
  if (deployment === undefined) return ["Start knfleet-controller, and look at its log."];
  const { namespace, name } = deployment;
  return [
    words("kubectl", "describe", "deployment", name, "-n", namespace),
    words("kubectl", "logs", `deployment/${name}`, "-n", namespace, "--tail=50"),
  ];
}
