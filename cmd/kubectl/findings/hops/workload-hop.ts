import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import type { Component } from "../../../../api/component.ts";
import { conditionOf, timestampOf } from "../../../../api/conditions.ts";
import { setAnnotations } from "../../../../api/fleet-set.ts";
import { describe, nameFirst } from "../../../../api/kubernetes.ts";
import { readUserWorkloads } from "../../../../controller/verify/read-workloads.ts";
import { componentOfWorkload, isNewlyBroken } from "../../../../installation/user-workloads.ts";
import { words } from "../../output/steps.ts";
import { unreadBecause } from "../../spokes/spoke-reading.ts";
import { finding, type HopResult, passed, passedWith, skipped } from "./hop.ts";

const dayMs = 24 * 60 * 60_000;
const mostNamed = 3;
const mostEvidence = 10;

/** When a component that is ready was last changed, in ms since the epoch: its stamp by a set, or else the end of its installation. Undefined: it is not ready, or that is longer ago than a day. */
export function changedLately({ metadata, status }: Component, now: Date): number | undefined {
  const { conditions } = status ?? {};
  const ready = conditionOf(conditions, "Ready");
  if (ready?.status !== "True") return undefined;
  const installed = conditionOf(conditions, "InstallSucceeded") ?? ready;
  const stamp = metadata.annotations?.[setAnnotations.updatedAt];
  const changedAt = Date.parse(stamp ?? installed.lastTransitionTime ?? "");
  return now.getTime() - changedAt < dayMs ? changedAt : undefined;
}

interface Cluster {
  readonly client: KubeClient;
  /** Time for one step. */
  readonly timeoutMs: number;
}

/** Looks for the users' objects that need a component and broke since a time. It is a warning, for other things than Knative break objects, too. */
export async function checkWorkloads(
  { kind, metadata }: Component,
  since: number,
  { client, timeoutMs }: Cluster,
  signal: AbortSignal,
): Promise<HopResult<true>> {
  const reading = await readUserWorkloads(client, signal).catch((error: unknown) => {
    const { message } = unreadBecause(signal.aborted ? signal.reason : error, timeoutMs);
    return { workloads: [], unread: [message] };
  });
  const [why] = reading.unread;
  if (why !== undefined) return skipped(`not all could be read: ${why}`);
  const own = reading.workloads.filter((one) => componentOfWorkload(one) === kind);
  const broken = own.filter((one) => isNewlyBroken(one, since));
  const when = timestampOf(new Date(since));
  if (broken.length === 0) return passed(true, `none of ${own.length} broke since ${when}`);
  const message = `${broken.length} of ${own.length} workloads broke since ${when}: ${nameFirst(broken.map(describe), mostNamed)}`;
  const evidence = broken
    .slice(0, mostEvidence)
    .map((one) => `${describe(one)}: ${[one.reason, one.message].filter(Boolean).join(": ")}`);
  const target = `${kind.toLowerCase()}/${metadata.name}`;
  const list = words("kubectl", "knfleet", "workloads", target, "-n", metadata.namespace);
  const found = finding("warning", "KNF6017", { message, evidence, next: [`${list} --broken`] });
  return passedWith(true, message, { findings: [found] });
}
