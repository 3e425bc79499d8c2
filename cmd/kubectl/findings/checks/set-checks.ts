import { missingRightIn } from "../../../../access/kube/missing-right.ts";
import { conditionOf } from "../../../../api/conditions.ts";
import {
  type FleetSet,
  fleetSetKinds,
  type RolloutPhase,
  setLabels,
} from "../../../../api/fleet-set.ts";
import { setId } from "../../../../api/keys.ts";
import { describe, type KubeObject } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import { type MalformedSet, servedSets } from "../../hub/fleet-sets.ts";
import { countOf } from "../../output/notes.ts";
import { words } from "../../output/steps.ts";
import { allSetKinds } from "../../selection/set-ref.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import { deniedMessage } from "../../spokes/spoke-reading.ts";
import { checkItem, type CheckItem, unseenItem } from "./check-item.ts";

const subject = "hub";
const check = "fleet sets";

/** An approval that nobody has given for longer is forgotten. */
const longMs = 24 * 3_600_000;

interface SetCheckDeps {
  readonly access: Pick<ClusterAccess, "hub" | "hubTimeoutMs">;
  readonly now: Date;
}

/** Whether rollouts of fleet sets are stuck, and whether a set has left something. Nothing on a hub that does not serve sets. What may not be read is skipped. */
export async function checkSets(
  { access, now }: SetCheckDeps,
  signal: AbortSignal,
): Promise<readonly CheckItem[]> {
  const served = await servedSets(access, { kinds: allSetKinds }, signal).catch(skipped);
  if (served === undefined) return [];
  if ("state" in served) return [served];
  const { sets, malformed } = served;
  const revisions = await revisionsOf(access, signal).catch(skipped);
  const items = [
    ...malformed.map(malformedItem),
    ...sets.flatMap((set) => setItems(set, now)),
    ...("state" in revisions
      ? [revisions]
      : leftRevisions(revisions, [...sets.map(setId), ...malformed.map(describe)])),
  ];
  if (items.length > 0 || sets.length === 0) return items;
  const message = `${countOf(sets.length, "set")}, none of which is stuck`;
  return [checkItem({ check, subject, state: "OK", message })];
}

/** The check that a right was missing for. Throws all other errors again. */
function skipped(error: unknown): CheckItem {
  return unseenItem(check, missingRightIn(deniedMessage(error)) ?? "the right to list them");
}

async function revisionsOf(
  { hub }: SetCheckDeps["access"],
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const resource = knownResource("apps/v1", "ControllerRevision");
  const list = await hub.list(
    { resource, labelSelector: setLabels.set },
    { metadataOnly: true },
    signal,
  );
  return list.items;
}

const stuck: readonly (RolloutPhase | undefined)[] = [
  "Halted",
  "RollingBack",
  "RolledBack",
  "Blocked",
];

function setItems(set: FleetSet, now: Date): readonly CheckItem[] {
  const phase = set.status?.rollout?.phase;
  const selected = conditionOf(set.status?.conditions, "Selected");
  const title = setId(set);
  const status = rolloutStep("status", set);
  return [
    ...(phase !== undefined && stuck.includes(phase)
      ? [
          checkItem({
            check,
            subject: title,
            state: "FAIL",
            code: phase,
            message: stuckText(set),
            next: [status],
          }),
        ]
      : []),
    ...(selected?.status === "False" && selected.reason === "SuspiciousShrink"
      ? [
          checkItem({
            check,
            subject: title,
            state: "WARN",
            code: selected.reason,
            message: selected.message ?? "",
            next: ["kubectl knfleet explain SuspiciousShrink"],
          }),
        ]
      : []),
    ...(isForgotten(set, now)
      ? [
          checkItem({
            check,
            subject: title,
            state: "WARN",
            code: "AwaitingApproval",
            message: `${stageText(set)} has waited for an approval for more than a day`,
            next: [rolloutStep("approve", set)],
          }),
        ]
      : []),
  ];
}

function stuckText(set: FleetSet): string {
  const { waitingFor } = set.status?.rollout ?? {};
  const said = waitingFor ?? conditionOf(set.status?.conditions, "Complete")?.message ?? "";
  const failed = set.status?.clusters?.["failed"] ?? 0;
  const count = failed === 0 ? "" : ` (${countOf(failed, "cluster")} failed)`;
  return `${stageText(set)}: ${said}${count}`;
}

function stageText({ status }: FleetSet): string {
  const stage = status?.rollout?.stage;
  return stage === undefined ? "the rollout" : `stage ${stage}`;
}

function isForgotten({ status }: FleetSet, now: Date): boolean {
  const said = conditionOf(status?.conditions, "Progressing");
  if (said?.reason !== "AwaitingApproval") return false;
  const since = Date.parse(said.lastTransitionTime ?? "");
  return now.getTime() - since > longMs;
}

function rolloutStep(verb: string, { kind, metadata: { namespace, name } }: FleetSet): string {
  const ref = `${fleetSetKinds[kind].shortName}/${name}`;
  return words("kubectl", "knfleet", "rollout", verb, ref, "-n", namespace);
}

/** An object that another CRD than ours has let in. No command shows it as a set. */
function malformedItem(set: MalformedSet): CheckItem {
  const { kind, namespace, name } = set;
  const plural = `${fleetSetKinds[kind].plural}.knfleet.dev`;
  return checkItem({
    check,
    subject: describe(set),
    state: "WARN",
    message: "has not the form of a set: the CRD is not that of knfleet",
    next: [words("kubectl", "get", plural, name, "-n", namespace, "-o", "yaml")],
  });
}

/** ControllerRevisions whose set is gone, as after a deletion with --cascade=orphan. */
function leftRevisions(
  revisions: readonly KubeObject[],
  titles: readonly string[],
): readonly CheckItem[] {
  const known = new Set(titles);
  const bySet = Map.groupBy(revisions, ({ metadata: { namespace, labels = {} } }) => {
    const kind = labels[setLabels.kind] ?? "";
    return describe({ kind, namespace: namespace ?? "", name: labels[setLabels.set] ?? "" });
  });
  return [...bySet]
    .filter(([title]) => !known.has(title))
    .map(([title, left]) =>
      checkItem({
        check,
        subject: title,
        state: "WARN",
        message: `the set does not exist, and has left ${countOf(left.length, "ControllerRevision")}`,
        next: [removalStep(left)],
      }),
    );
}

function removalStep([first]: readonly KubeObject[]): string {
  const { namespace = "", labels = {} } = first?.metadata ?? {};
  const selector = [setLabels.set, setLabels.kind].map((key) => `${key}=${labels[key] ?? ""}`);
  return words(
    "kubectl",
    "delete",
    "controllerrevisions.apps",
    "-n",
    namespace,
    "-l",
    selector.join(","),
  );
}
