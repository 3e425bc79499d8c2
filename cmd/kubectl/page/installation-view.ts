import type { WorkloadState } from "../../../installation/readiness.ts";
import type { StatusItem } from "../fleet/status-item.ts";
import { shortNameOf } from "../output/names.ts";
import { words } from "../output/steps.ts";
import type { PageStateName } from "./fleet-view.ts";

/** A command to copy, and what it is for. */
export interface NextCommand {
  readonly why: string;
  readonly command: string;
}

type Named = Pick<StatusItem, "kind" | "namespace" | "name" | "cluster" | "reason" | "severity">;

/** How commands begin. */
export interface Beginning {
  /** The beginning of commands, with the flags that the page was started with. */
  readonly knfleet: string;
  /** True for a bundle: there is no cluster to connect to. */
  readonly isRecorded: boolean;
}

/** What one may do next for an installation, the most useful first. */
export function nextCommands(
  item: Named,
  { knfleet, isRecorded }: Beginning,
): readonly NextCommand[] {
  const { namespace, cluster, reason, severity } = item;
  const name = shortNameOf(item);
  const of = (verb: string): string => `${knfleet} ${words(verb, name, "-n", namespace)}`;
  const isFine = severity === "ok" || severity === "progress";
  return [
    ...(isFine ? [] : [{ why: "Find the root cause", command: of("diagnose") }]),
    ...(isFine || reason === null
      ? []
      : [
          { why: "What the reason means", command: words("kubectl", "knfleet", "explain", reason) },
        ]),
    { why: "Its row, conditions and Deployments", command: of("status") },
    { why: "Its logs, and what the controller logged", command: of("logs") },
    { why: "How its cluster differs", command: of("diff") },
    ...(cluster === null || isRecorded
      ? []
      : [
          {
            why: "A shell on its cluster",
            command: `${knfleet} ${words("connect", `${cluster.namespace}/${cluster.name}`)}`,
          },
        ]),
  ];
}

type Condition = NonNullable<StatusItem["detail"]>["conditions"][number];

/** Conditions that say the same. */
export interface ConditionLine {
  readonly types: readonly string[];
  /** The first of them. */
  readonly condition: Condition;
}

/** Conditions with equal messages as one line, so that one cause is one sentence; those without a message are lines of their own. */
export function conditionLines(conditions: readonly Condition[]): readonly ConditionLine[] {
  const groups = Map.groupBy(conditions, ({ type, status, reason, message }) =>
    JSON.stringify(message === null || message === "" ? [type] : [status, reason, message]),
  );
  return [...groups.values()].flatMap((group) => {
    const [condition] = group;
    return condition === undefined ? [] : [{ types: group.map(({ type }) => type), condition }];
  });
}

const badges = {
  available: { tone: "healthy", text: "Available" },
  scaledToZero: { tone: "warning", text: "Scaled to zero" },
  rollingOut: { tone: "progress", text: "In progress" },
  notAvailable: { tone: "bad", text: "Not available" },
} as const satisfies Record<WorkloadState, { readonly tone: PageStateName; readonly text: string }>;

/** The state of a Deployment in a word. */
export function deploymentBadge(state: WorkloadState): (typeof badges)[WorkloadState] {
  return badges[state];
}

/** The query with which the documents of one installation are asked for. */
export function queryOf(item: Pick<StatusItem, "kind" | "namespace" | "name">): string {
  return new URLSearchParams({ names: shortNameOf(item), namespace: item.namespace }).toString();
}
