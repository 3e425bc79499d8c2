import {
  codeOfRefusal,
  isNamespaceLeaving,
  isRightMissing,
  obstacleIn,
} from "../../access/kube/obstacle.ts";
import { conditionOf } from "../../api/conditions.ts";
import {
  availableCondition,
  type ManagedCluster,
  type ManifestStatus,
  type ManifestWork,
} from "../../api/delivery.ts";
import { FleetError } from "../../api/errors.ts";
import { recordAt } from "../../api/fields.ts";
import { foreignText } from "../../api/foreign-text.ts";
import type { Condition } from "../../api/kubernetes.ts";
import { uncountedQuotaIn } from "../../api/refusal-texts.ts";
import { clusterSilent, namespaceGoes } from "../../api/sentences.ts";
import { shapedAnswer } from "../../sets/pulled-checks.ts";
import type { ReportedStatus } from "../status/outcome.ts";
import { agentNamespace } from "./agent.ts";
import { feedbackName, toldConditions } from "./works.ts";

/** What the hub holds of one pulled component, after the works were written. */
export interface PullFacts {
  /** Name of the ManagedCluster. */
  readonly cluster: string;
  readonly managed: ManagedCluster | undefined;
  readonly agent: ManifestWork | undefined;
  /** Undefined while the agent is not there yet. */
  readonly work: ManifestWork | undefined;
  /** Generation of the component. */
  readonly generation: number;
  /** Something was installed for the component before, by the hub or by works. */
  readonly isInstalled?: boolean;
}

/** The state of a pulled component as the hub can know it. Equal facts give an equal answer: ages are told as the time since when. */
export function judge(facts: PullFacts): ReportedStatus | FleetError {
  const { cluster, managed, agent, work, generation } = facts;
  const silence = silenceOf(cluster, managed);
  if (silence !== undefined) return silence;
  const refusal = refusalOf(agent, cluster) ?? refusalOf(work, cluster);
  if (refusal !== undefined) return refusal;
  if (agent === undefined || !wasApplied(agent)) return unapplied(cluster);
  const values = feedbackOf(work);
  const isUnmanaged = facts.isInstalled === true && values.get("hubGeneration") === undefined;
  const waiting = (what: string): ReportedStatus => waitingFor(what, isUnmanaged);
  if (!isAvailable(agent)) return waiting(`the agent in ${agentNamespace} on the spoke`);
  if (work === undefined) return waiting("the work to be written");
  if (!isCurrent(values, generation)) {
    return waiting("the agent on the spoke to take up the component");
  }
  return reportedBy(values);
}

function reportedBy(values: ReadonlyMap<string, string>): ReportedStatus {
  const version = shaped(values.get("version"), shapes.version);
  const content = shaped(values.get("content"), shapes.content);
  const answer = shapedAnswer(values.get("answer"));
  return {
    conditions: [reached, ...toldConditions.flatMap((type) => conditionFrom(values, type))],
    ...(version === undefined ? {} : { version }),
    ...(content === undefined ? {} : { content }),
    ...(answer === undefined ? {} : { answer }),
  };
}

/** Feedback about an earlier spec, or about a spec that the agent has not looked at, must not look like the result of this one. */
function isCurrent(values: ReadonlyMap<string, string>, generation: number): boolean {
  return (
    values.get("hubGeneration") === `${generation}` &&
    values.get("generation") !== undefined &&
    values.get("generation") === values.get("observed")
  );
}

/** Whether the agent of Open Cluster Management has applied a work as it is now. */
export function isApplied({ metadata, status }: ManifestWork): boolean {
  const applied = conditionOf(status?.conditions, "Applied");
  return applied?.status === "True" && applied.observedGeneration === metadata.generation;
}

/** Whether the agent of Open Cluster Management has still to look at a work as it is now, after one that it looked at. */
export function isBehind({ metadata, status }: ManifestWork): boolean {
  const applied = conditionOf(status?.conditions, "Applied");
  return applied !== undefined && applied.observedGeneration !== metadata.generation;
}

/** Whether the work agent has applied a work at least once. */
function wasApplied({ status }: ManifestWork): boolean {
  return conditionOf(status?.conditions, "Applied")?.status === "True";
}

/** Whether the controller on the spoke runs, as the work that brought it tells. */
export function isAvailable(agent: ManifestWork | undefined): boolean {
  return agent !== undefined && Number(feedbackOf(agent).get("available") ?? 0) > 0;
}

/** Why nothing is heard of a cluster; undefined when its agent reports. */
export function silenceOf(
  cluster: string,
  managed: ManagedCluster | undefined,
): FleetError | undefined {
  if (managed === undefined) {
    const code = "NotManagedByOCM";
    return new FleetError("AccessProviderFailed", `ManagedCluster ${cluster} does not exist`, {
      code,
    });
  }
  const available = conditionOf(managed.status?.conditions, availableCondition);
  if (available?.status === "True") return undefined;
  const { status, lastTransitionTime } = available ?? {};
  const since = lastTransitionTime === undefined ? "" : ` since ${lastTransitionTime}`;
  const message =
    status === "False"
      ? `${clusterSilent.server.of(cluster)}${since}`
      : `${clusterSilent.agent.of(cluster)}${since === "" ? " yet" : since}`;
  return new FleetError("SpokeUnreachable", message, { code: "Unreachable" });
}

const longestText = 400;

/** Why the agent of Open Cluster Management did not apply a work; undefined when it did, or has not tried the current one yet. */
export function refusalOf(work: ManifestWork | undefined, cluster: string): FleetError | undefined {
  const failed = work && manifestsOf(work).find((one) => appliedOf(one)?.status === "False");
  if (work === undefined || failed === undefined) return undefined;
  const { kind = "", name = "" } = failed.resourceMeta ?? {};
  const message = appliedOf(failed)?.message ?? "";
  // The agent brings the CRD; Open Cluster Management tries again.
  if (/no matches for kind|doesn't have a resource type/.test(message)) return undefined;
  // It tries again here, too, and the cluster has counted within seconds.
  if (uncountedQuotaIn(message) !== undefined) return undefined;
  const text = foreignText(message.replace(/^Failed to apply manifest: /, ""), longestText);
  const object = foreignText(`${kind} ${name}`.trim(), longestText);
  const where = `ManagedCluster ${cluster}: work ${work.metadata.name}`;
  return notApplied(message, { where, object, text });
}

interface NotApplied {
  readonly where: string;
  readonly object: string;
  readonly text: string;
}

function notApplied(message: string, { where, object, text }: NotApplied): FleetError {
  const told = { status: undefined, message };
  // A webhook, a policy or a quota of the spoke is none of the agent's rights.
  if (obstacleIn(told) !== undefined) {
    const code = codeOfRefusal(told);
    const refused = `${where}: ${object} is refused on the spoke: ${text}`;
    return new FleetError("ApplyFailed", refused, code === undefined ? {} : { code });
  }
  if (isNamespaceLeaving(message)) {
    const going = `${where}: ${object} waits: ${namespaceGoes.ofSpoke.of()}`;
    return new FleetError("ClusterBusy", going);
  }
  // The second are words of the work agent about a work with an executor.
  if (isRightMissing(message) || message.includes("not allowed to apply the resource ")) {
    const lack = `${where}: the work agent may not apply ${object}: ${text}`;
    return new FleetError("AccessProviderFailed", lack, { code: "WorkForbidden" });
  }
  return new FleetError("ApplyFailed", `${where}: ${object} was not applied: ${text}`);
}

function appliedOf({ conditions }: ManifestStatus): Condition | undefined {
  return conditionOf(conditions, "Applied");
}

function manifestsOf({ status }: ManifestWork): readonly ManifestStatus[] {
  return status?.resourceStatus?.manifests ?? [];
}

/** The values that the feedback rules of a work asked for, by name; none without a work. Of other types than the rules ask for there are none. */
export function feedbackOf(work: ManifestWork | undefined): ReadonlyMap<string, string> {
  const values = (work === undefined ? [] : manifestsOf(work)).flatMap(
    ({ statusFeedback }) => statusFeedback?.values ?? [],
  );
  return new Map(
    values.flatMap(({ name, fieldValue }) => {
      const { string, integer } = recordAt(fieldValue);
      if (typeof string === "string") return [[name, string] as const];
      return typeof integer === "number" ? [[name, `${integer}`] as const] : [];
    }),
  );
}

// What a spoke says goes to the status of the hub, so it has the shape and length that the API asks for, or it is dropped.
const shapes = {
  version: /^\d{1,9}\.\d{1,9}\.\d{1,9}(?:[-+][\w.+-]{1,64})?$/,
  content: /^(?:edited|[0-9a-f]{10}-(?:none|[0-9a-f]{10}))$/,
  reason: /^[A-Za-z](?:[\w,:]{0,126}\w)?$/,
};

function shaped(value: string | undefined, shape: RegExp): string | undefined {
  return value !== undefined && shape.test(value) ? value : undefined;
}

/** The cluster carries out works. */
const reached: Entry = { type: "TargetClusterResolved", status: "True" };

function unapplied(cluster: string): ReportedStatus {
  const message = `Waiting for the work agent of ManagedCluster ${cluster} to apply the works`;
  const type = "TargetClusterResolved";
  return { conditions: [{ type, status: "Unknown", reason: "Connecting", message }] };
}

/** `isUnmanaged`: the hub has stopped its work for an installation, which waits for the spoke to go on. */
function waitingFor(what: string, isUnmanaged: boolean): ReportedStatus {
  const stopped = isUnmanaged ? "; the hub does not manage the installation any more" : "";
  const message = `Waiting for ${what}${stopped}`;
  const type = "InstallSucceeded";
  return { conditions: [reached, { type, status: "Unknown", reason: "Installing", message }] };
}

type Entry = ReportedStatus["conditions"][number];

function conditionFrom(values: ReadonlyMap<string, string>, type: string): readonly Entry[] {
  const status = values.get(feedbackName(type, "status"));
  if (status !== "True" && status !== "False" && status !== "Unknown") return [];
  const reason = shaped(values.get(feedbackName(type, "reason")), shapes.reason);
  const message = values.get(feedbackName(type, "message"));
  return [
    {
      type,
      status,
      ...(reason === undefined ? {} : { reason }),
      ...(message === undefined ? {} : { message: foreignText(message) }),
    },
  ];
}
