import type { ClusterProfile } from "../../../api/cluster-profile.ts";
import {
  type FleetSet,
  type FleetSetSpec,
  type FleetSetStatus,
  type StageState,
  type StageStatus,
} from "../../../api/fleet-set.ts";
import { revisionNameOf } from "../../../sets/desired-spec.ts";
import type { Revision, SetFacts } from "../../../sets/facts.ts";
import { rolloutWith, SetWorld, stageOfRing } from "../set-world.ts";
import { type Case, type StageFields, timeOfCase } from "./case.ts";
import { childOf, isDarkWord } from "./children.ts";

const usualStages = { canary: { maxConcurrency: 1 }, rest: { maxConcurrency: 2 } };
const oldTemplate = { spec: { version: "1.22.0" } };
const newTemplate = { spec: { version: "1.23.0" } };

/** The objects of a row. */
export function factsOf(row: Case): {
  readonly facts: SetFacts;
  readonly oldRevision: string;
} {
  const set = setOf(row);
  const old = revisionOf(set, { template: oldTemplate });
  const update = revisionOf(set, set.spec);
  const revisions = { old: { ...old, number: 1, completedNumber: 1 }, update };
  const members = Object.entries(row.clusters).flatMap(([ring, words]) =>
    words
      .split(" ")
      .flatMap((word, at) => (word === "" ? [] : [{ name: `${ring}-${at + 1}`, ring, word }])),
  );
  const profiles = new Map(
    members.map((member) => [`fleet/${member.name}`, profileOf(member, row)] as const),
  );
  const children = members.flatMap(({ name, word }) => {
    const profile = profiles.get(`fleet/${name}`);
    return profile === undefined ? [] : (childOf(word, { profile, row, ...revisions }) ?? []);
  });
  const clusters = members
    .filter(({ name }) => !Object.keys(row.unselected ?? {}).includes(name))
    .map(({ name, ring }) => ({ namespace: "fleet", name, group: ring }));
  const obstacles = Object.entries(row.obstacles ?? {}).map(
    ([name, reason]) => [`fleet/${name}`, { reason, message: reason }] as const,
  );
  const facts = {
    set: { ...set, ...statusOf(row, update.name) },
    revisions: revisionsOf(row, revisions),
    selection: row.selection ?? ({ kind: "clusters", clusters } as const),
    profiles,
    children,
    obstacles: new Map(obstacles),
  };
  return { facts, oldRevision: old.name };
}

function setOf({ stages = usualStages, rollout, spec, annotations, deleting }: Case): FleetSet {
  const { set } = new SetWorld({}, []);
  const named = Object.entries<StageFields>(stages).map(([name, fields]) =>
    fields.decisionGroup === undefined ? stageOfRing(name, fields) : { name, ...fields },
  );
  const changed: FleetSetSpec = {
    ...set.spec,
    template: newTemplate,
    ...spec,
    rollout: rolloutWith({ order: "Name", stages: named, ...rollout }),
  };
  const bare = { ...set, spec: changed };
  const name = revisionNameOf(bare);
  // A row says UPDATE where the name of the revision belongs.
  const named2 = Object.entries(annotations ?? {}).map(([key, value]) => [
    key,
    value.replace("UPDATE", name),
  ]);
  const deletion = deleting === true ? { deletionTimestamp: "2026-11-25T11:59:00Z" } : {};
  return {
    ...bare,
    metadata: { ...set.metadata, annotations: Object.fromEntries(named2), ...deletion },
  };
}

function revisionOf(set: FleetSet, content: Pick<FleetSetSpec, "template" | "overrides">) {
  const { template, overrides = [] } = content;
  const name = revisionNameOf({ ...set, spec: { ...set.spec, template, overrides } });
  return { name, number: 2, failed: false, content: { template, overrides } };
}

function revisionsOf(
  { revision = "again" }: Case,
  { old, update }: { readonly old: Revision; readonly update: Revision },
): readonly Revision[] {
  const after = {
    first: [{ ...update, number: 1 }],
    again: [old, update],
    completed: [old, { ...update, completedNumber: 2 }],
    failed: [old, { ...update, failed: true }],
    retried: [old, { ...update, retriedAt: "2026-11-25T11:59:00Z" }],
    unrecorded: [old],
  } as const;
  return after[revision];
}

function profileOf(
  { name, ring, word }: { readonly name: string; readonly ring: string; readonly word: string },
  { labels }: Case,
): ClusterProfile {
  return {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: {
      namespace: "fleet",
      name,
      uid: `uid-${name}`,
      resourceVersion: "1",
      labels: { ring, ...labels?.[name] },
    },
    status: {
      conditions: [{ type: "ControlPlaneHealthy", status: isDarkWord(word) ? "False" : "True" }],
    },
  };
}

function statusOf(row: Case, update: string): { readonly status?: FleetSetStatus } {
  const { before, phase, resumedAt } = row;
  if (before === undefined && phase === undefined) return {};
  const stages = Object.entries(before ?? {}).map(([name, word]) => stageStatusOf(name, word, row));
  const rollout = {
    ...(phase === undefined ? {} : { phase }),
    ...(resumedAt === undefined ? {} : { resumedAt }),
  };
  return { status: { updateRevision: update, rollout, stages } };
}

/** `Rolling`, `Rolling of 20`, `Soaking 10m`: the number of clusters at the start, or the minutes since the last one was done. */
function stageStatusOf(name: string, word: string, row: Case): StageStatus {
  const [state, size, minutes] = /^(\w+)(?: of (\d+))?(?: (\d+)m)?$/.exec(word)?.slice(1) ?? [];
  const now = timeOfCase(row);
  const counts = {
    clusters: 0,
    done: 0,
    failed: state === "Halted" ? 1 : 0,
    updating: 0,
    unreachable: 0,
  };
  const startedAt = new Date(now - 3_600_000).toISOString();
  const doneAt =
    minutes === undefined ? {} : { doneAt: new Date(now - Number(minutes) * 60_000).toISOString() };
  if (!isState(state)) throw new Error(`${word} is no state of a stage`);
  const times =
    state === "Waiting" || state === "Empty"
      ? {}
      : { startedAt, startSize: Number(size ?? 1), ...doneAt };
  return { name, ...counts, state, ...times };
}

function isState(text: string | undefined): text is StageState {
  const states = ["Waiting", "Rolling", "Soaking", "AwaitingApproval", "Passed", "Empty", "Halted"];
  return states.some((state) => state === text);
}
