import { timestampOf } from "../../../api/conditions.ts";
import { jsonOf, recordAt, textAt } from "../../../api/fields.ts";
import { fleetSetKinds, steering } from "../../../api/fleet-set.ts";
import { unmatchedStage } from "../../../sets/stages.ts";
import { deeds, entryOf } from "../../../sets/status/record-entry.ts";
import { below, elementsOf, type Problem, problemAt, problemIf, quoteValue } from "../rule.ts";
import type { NeededRight, SetChange } from "./set-rule.ts";

/** An annotation that approves a stage, which the request adds or changes. */
interface Approval {
  readonly path: string;
  /** The key after its prefix, `<stage>-before` or `<stage>-after`. */
  readonly gate: string;
  readonly value: unknown;
}

function newApprovals({ annotations, oldAnnotations }: SetChange): readonly Approval[] {
  return Object.entries(annotations).flatMap(([key, value]) =>
    key.startsWith(steering.approve) && oldAnnotations[key] !== value
      ? [
          {
            path: below("metadata", "annotations", key),
            gate: key.slice(steering.approve.length),
            value,
          },
        ]
      : [],
  );
}

/** Annotations that a request adds or changes. */
function changedAnnotations(
  { annotations, oldAnnotations }: SetChange,
  names: readonly string[],
): readonly { readonly name: string; readonly path: string; readonly value: unknown }[] {
  return names.flatMap((name) => {
    const value = annotations[name];
    if (value === undefined || value === oldAnnotations[name]) return [];
    return [{ name, path: below("metadata", "annotations", name), value }];
  });
}

/** A rollout that leaves clusters or stages out passes gates, as an approval does. */
const skips = [steering.skipClusters, steering.skipStages];

/** The right that a new approval needs, and a skip: the verb `approve` on the set. Withdrawing needs none. Spec: sets.md R9. */
export function rightsToApprove(change: SetChange): readonly NeededRight[] {
  const [first] = [...newApprovals(change), ...changedAnnotations(change, skips)];
  return first === undefined ? [] : [rightToApprove(change, first.path)];
}

/** Problems of the other annotations that steer a rollout: each names a revision of the set, and what a user did names the user who writes it. */
export function steeringProblems(change: SetChange, now: Date): readonly Problem[] {
  const told = Object.keys(change.annotations).filter((name) => name.startsWith(steering.did));
  return [
    ...changedAnnotations(change, [...skips, steering.abort]).flatMap(({ path, value }) => {
      const [revision = ""] = String(value).split(" ");
      const message = `must begin with a revision of the set (is ${quoteValue(revision)})`;
      return problemIf(!isRevisionOf(change, revision), path, message);
    }),
    ...changedAnnotations(change, told).flatMap(({ name, path, value }) =>
      problemAt(path, deedProblem({ ...change, now }, name.slice(steering.did.length), value)),
    ),
  ];
}

/** Clocks differ, and a command may wait for its answer. */
const mostOffMs = 5 * 60_000;

/** An approval is told by its own annotation. */
const toldDeeds = deeds.filter((deed) => deed !== "approve");

/** Why the controller could not record a deed, or may not. */
function deedProblem(
  { username, now }: Pick<SetChange, "username"> & { readonly now: Date },
  verb: string,
  value: unknown,
): string | undefined {
  if (!toldDeeds.some((deed) => deed === verb))
    return `the key must end with one of ${toldDeeds.join(", ")}`;
  const deed = recordAt(jsonOf(String(value)));
  if (entryOf({ ...deed, what: verb }).length === 0) {
    return `must be JSON with "at", a time as in RFC 3339, as kubectl knfleet rollout writes it (is ${quoteValue(value)})`;
  }
  const { user, at } = deed;
  if (Math.abs(Date.parse(String(at)) - now.getTime()) > mostOffMs) {
    return `must have as "at" the time at which it is written, here ${timestampOf(now)}, give or take five minutes (is ${quoteValue(at)}); does the clock of your machine differ?`;
  }
  if (user === username) return undefined;
  return `must name the user who writes it, here ${quoteValue(username)} (is ${quoteValue(user)})`;
}

function isRevisionOf({ name }: SetChange, revision: string): boolean {
  const isRevision = /-[0-9a-f]{10}$/.test(revision);
  return isRevision && revision.slice(0, -11) === (name || revision.slice(0, -11));
}

/** The right to approve stages of a set, for a field that needs it. */
export function rightToApprove({ kind, namespace, name }: SetChange, path: string): NeededRight {
  const resource = fleetSetKinds[kind].plural;
  const place = { group: "knfleet.dev", resource, namespace };
  return {
    path,
    attempt: { verb: "approve", ...place, ...(name === "" ? {} : { name }) },
    deed: `"approve" stages of ${kind} ${quoteValue(`${namespace}/${name}`)}`,
  };
}

/** Problems of new approvals: each has to name a stage of the set, a revision of the set, and the user who writes it. */
export function approvalProblems(change: SetChange): readonly Problem[] {
  const stages = elementsOf(recordAt(change.spec, "rollout")["stages"], "").flatMap(
    ([stage]) => textAt(stage, "name") ?? [],
  );
  const known = new Set([...stages, unmatchedStage]);
  return newApprovals(change).flatMap(({ path, gate, value }) => [
    ...problemAt(path, gateProblem(gate, known)),
    ...valueProblems(change, path, value),
  ]);
}

function gateProblem(gate: string, stages: ReadonlySet<string>): string | undefined {
  const [, stage] = /^(.+)-(?:before|after)$/.exec(gate) ?? [];
  if (stage === undefined) return "the key must end with the name of a stage and -before or -after";
  return stages.has(stage) ? undefined : `the set has no stage ${quoteValue(stage)}`;
}

function valueProblems(change: SetChange, path: string, value: unknown) {
  const { username } = change;
  const text = typeof value === "string" ? value : "";
  const [revision = "", ...user] = text.split(" ");
  const isOwnName = user.join(" ") === username;
  return problemIf(
    !isRevisionOf(change, revision) || !isOwnName,
    path,
    `must be "REVISION USER": a revision of the set and the user who approves, here ${quoteValue(username)} (is ${quoteValue(text)})`,
  );
}
