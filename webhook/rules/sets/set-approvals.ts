import { recordAt, textAt } from "../../../api/fields.ts";
import { fleetSetKinds, steering } from "../../../api/fleet-set.ts";
import { unmatchedStage } from "../../../sets/stages.ts";
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

/** The right that a new approval needs: the verb `approve` on the set. Withdrawing an approval needs none. Spec: sets.md R9. */
export function rightsToApprove(change: SetChange): readonly NeededRight[] {
  const [first] = newApprovals(change);
  return first === undefined ? [] : [rightToApprove(change, first.path)];
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

function valueProblems({ name, username }: SetChange, path: string, value: unknown) {
  const text = typeof value === "string" ? value : "";
  const [revision = "", ...user] = text.split(" ");
  const isRevision =
    /-[0-9a-f]{10}$/.test(revision) && revision.slice(0, -11) === (name || revision.slice(0, -11));
  const isOwnName = user.join(" ") === username;
  return problemIf(
    !isRevision || !isOwnName,
    path,
    `must be "REVISION USER": a revision of the set and the user who approves, here ${quoteValue(username)} (is ${quoteValue(text)})`,
  );
}
