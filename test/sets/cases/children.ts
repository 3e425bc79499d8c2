import type { ClusterProfile } from "../../../api/cluster-profile.ts";
import { type Component, operatorApiVersion } from "../../../api/component.ts";
import { timestampOf } from "../../../api/conditions.ts";
import { setAnnotations, setLabels } from "../../../api/fleet-set.ts";
import type { Condition } from "../../../api/kubernetes.ts";
import type { ConditionType } from "../../../api/reasons.ts";
import { DesiredSpecs } from "../../../sets/desired-spec.ts";
import type { Revision } from "../../../sets/facts.ts";
import { type Case, type ClusterWord, timeOfCase } from "./case.ts";

/** What a word stands for; times are seconds before the time of the row. */
interface Meaning {
  readonly revision: "old" | "new";
  readonly stamped: number;
  /** Since when the component is ready; absent: it is not. */
  readonly ready?: number;
  /** What it says while it is not ready, and since when. */
  readonly said?: readonly [type: ConditionType, status: "False" | "Unknown", reason: string];
  readonly saidFor?: number;
  /** Since when its cluster is resolved again. */
  readonly resolved?: number;
  readonly installed?: string;
  /** Name of its revision when that is neither of the two. */
  readonly label?: string;
  readonly isObserved?: boolean;
  readonly isEdited?: boolean;
  readonly hash?: string;
  readonly isLeaving?: boolean;
  readonly isForeign?: boolean;
}

const [minute, hour] = [60, 3_600];
const old: Meaning = { revision: "old", stamped: hour, ready: hour };
const done: Meaning = { revision: "new", stamped: 10 * minute, ready: 10 * minute };
const notReady = ["DeploymentsAvailable", "False", "NotReady"] as const;
const updating: Meaning = {
  revision: "new",
  stamped: 5 * minute,
  said: notReady,
  saidFor: 4 * minute,
};
const late: Meaning = { ...updating, stamped: 20 * minute, saidFor: 19 * minute };
const unreachable = ["TargetClusterResolved", "Unknown", "SpokeUnreachable"] as const;

const meanings: Readonly<Record<Exclude<ClusterWord, "none">, Meaning>> = {
  old,
  leaving: { ...old, isLeaving: true },
  far: { ...old, installed: "1.20.0" },
  dark: old,
  lost: { revision: "old", stamped: hour, said: unreachable, saidFor: 10 * minute },
  done,
  updating,
  stamped: { revision: "new", stamped: 10, ready: hour, isObserved: false },
  kept: { revision: "new", stamped: 10, ready: hour },
  settling: { revision: "new", stamped: 5 * minute, ready: 10 },
  late,
  "late-anew": { ...late, saidFor: 10 },
  back: { ...late, resolved: 5 * minute },
  failed: { ...updating, said: ["InstallSucceeded", "False", "KubernetesVersionTooOld"] },
  "failed-dark": { ...updating, said: ["InstallSucceeded", "False", "KubernetesVersionTooOld"] },
  darkened: { ...updating, said: unreachable },
  taken: { ...updating, said: ["InstallSucceeded", "False", "DuplicateComponent"] },
  edited: { ...done, isEdited: true },
  spoiled: { ...late, isEdited: true },
  ahead: { ...done, installed: "1.24.0" },
  other: { ...done, label: "prod-other" },
  hanging: { ...updating, label: "prod-other" },
  drifting: { ...updating, hash: "another" },
  foreign: { ...updating, isForeign: true },
  returning: { ...updating, revision: "old" },
  "returned-late": { ...late, revision: "old" },
  drifted: { ...done, hash: "another" },
};

function isWord(word: string): word is keyof typeof meanings {
  return Object.hasOwn(meanings, word);
}

/** Whether the ClusterProfile of a cluster says that its control plane is not healthy. */
export function isDarkWord(word: string): boolean {
  return word === "dark" || word === "failed-dark";
}

interface Surroundings {
  readonly profile: ClusterProfile;
  readonly row: Case;
  readonly old: Revision;
  readonly update: Revision;
}

/** The component that a word stands for; undefined for `none`. */
export function childOf(word: string, around: Surroundings): Component | undefined {
  if (word === "none") return undefined;
  if (!isWord(word)) throw new Error(`${word} is no word for a cluster`);
  const meaning = meanings[word];
  const { profile, row } = around;
  const revision = meaning.revision === "old" ? around.old : around.update;
  const desired = new DesiredSpecs(revision.content).of(profile);
  const { spec, hash } = "missing" in desired ? { spec: {}, hash: "" } : desired;
  const { name, namespace } = profile.metadata;
  const live = meaning.isEdited === true ? { ...spec, version: "1.22.9" } : spec;
  const at = clockOf(row);
  const annotations = {
    [setAnnotations.updatedAt]: at(meaning.stamped),
    [setAnnotations.spec]: meaning.hash ?? hash,
    ...unselectedMark(name, row),
  };
  return {
    apiVersion: operatorApiVersion,
    kind: "KnativeServing",
    metadata: {
      name: `prod-${name}`,
      namespace: "fleet",
      uid: `child-${name}`,
      resourceVersion: "1",
      generation: 2,
      labels:
        meaning.isForeign === true
          ? {}
          : {
              [setLabels.set]: "prod",
              [setLabels.revision]: meaning.label ?? revision.name,
              [setLabels.stage]: name.replace(/-\d+$/, ""),
            },
      annotations,
      ...(meaning.isLeaving === true ? { deletionTimestamp: at(5) } : {}),
    },
    spec: { ...live, clusterProfileRef: { namespace, name } },
    status: {
      observedGeneration: meaning.isObserved === false ? 1 : 2,
      conditions: conditionsOf(meaning, at),
      version: installedOf(meaning),
    },
  };
}

function clockOf(row: Case): (secondsAgo: number) => string {
  return (secondsAgo) => timestampOf(new Date(timeOfCase(row) - secondsAgo * 1_000));
}

function unselectedMark(name: string, row: Case): Readonly<Record<string, string>> {
  const minutes = row.marked?.includes(name) === true ? 1 : row.unselected?.[name];
  if (minutes === undefined) return {};
  return { [setAnnotations.unselectedAt]: clockOf(row)(minutes * minute) };
}

function installedOf({ revision, ready, isObserved, installed }: Meaning): string {
  if (installed !== undefined) return installed;
  return revision === "old" || ready === undefined || isObserved === false ? "1.22.0" : "1.23.0";
}

function conditionsOf(
  { ready, said, saidFor = 0, resolved }: Meaning,
  at: (secondsAgo: number) => string,
): readonly Condition[] {
  if (ready !== undefined)
    return [{ type: "Ready", status: "True", lastTransitionTime: at(ready) }];
  const [type, status, reason] = said ?? notReady;
  const condition = { status, reason, message: "No", lastTransitionTime: at(saidFor) } as const;
  const isBack = type !== "TargetClusterResolved" && resolved !== undefined;
  return [
    { type: "Ready", ...condition },
    { type, ...condition },
    ...(isBack
      ? [
          {
            type: "TargetClusterResolved",
            status: "True",
            lastTransitionTime: at(resolved),
          } as const,
        ]
      : []),
  ];
}
