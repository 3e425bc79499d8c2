import { describe } from "../../../../api/kubernetes.ts";
import { countOf } from "../../output/notes.ts";
import { words } from "../../output/steps.ts";
import {
  clusterName,
  type ComponentState,
  type ControllerFact,
  isAtWork,
  type MigrationFacts,
  type OperatorFacts,
} from "./migration-facts.ts";
import { compareWithRecord, recordName } from "./migration-record.ts";

export type StepId =
  | "record"
  | "stop-upstream"
  | "install-knfleet"
  | "own-definitions"
  | "stop-knfleet"
  | "remove-guard"
  | "give-back"
  | "start-upstream"
  | "take-over"
  | "compare"
  | "remove-upstream"
  | "finish";

/** One step of a migration. */
export interface Step {
  readonly id: StepId;
  readonly state: "Done" | "ToDo" | "Blocked";
  /** Who carries it out: this command, the user by hand (Helm), or the operator that comes. */
  readonly by: "command" | "you" | "operator";
  /** What is done, what will be done, or why it cannot be done. */
  readonly message: string;
  /** The components, objects and clusters that it is still about. */
  readonly pending: readonly string[];
  /** What to run by hand, in this order. */
  readonly next: readonly string[];
}

/** What has to be said above a command of Helm. */
export const inHelm3 = "--force-conflicts exists in Helm 4 only; leave it out with Helm 3.";

/** A step without further lines. */
export function stepOf(
  id: StepId,
  state: Step["state"],
  { by = "command", message, pending = [], next = [] }: Partial<Step> & { message: string },
): Step {
  return { id, state, by, message, pending, next };
}

/** Adds the steps with which every migration begins and ends. `between`: the steps of its direction. */
export function withRecord(
  { record, components, clusters }: MigrationFacts,
  between: readonly Step[],
): readonly Step[] {
  const isOver = record === undefined && between.every(({ state }) => state === "Done");
  const isKept = record !== undefined || isOver;
  const count = clusters.reduce((sum, { workloads }) => sum + workloads.length, 0);
  const size = `${countOf(count, "Deployment")} and ${countOf(components.length, "component")} on ${countOf(clusters.length, "cluster")}`;
  return [
    stepOf("record", isKept ? "Done" : "ToDo", {
      message: isOver
        ? "Nothing is under way"
        : record === undefined
          ? `Note the state of ${size} in a ConfigMap of the hub`
          : "The state before the migration is noted",
    }),
    ...between,
    stepOf("finish", isOver ? "Done" : "ToDo", {
      message: isOver ? "Nothing is left to do" : "Delete the ConfigMap with the state before",
    }),
  ];
}

/** Compares with the record. `before`: the steps that have to be done first. */
export function compareStep(
  { direction, record, recordNamespace, clusters }: MigrationFacts,
  before: readonly Step[],
): Step {
  const isReached = before.every(({ state }) => state === "Done");
  if (record === undefined) {
    return stepOf("compare", isReached ? "Done" : "ToDo", {
      message: isReached
        ? "No state of before is noted"
        : "Compare with the state before: no Deployment may have other pods",
    });
  }
  const { restarted, touched, gone, count } = compareWithRecord(record, clusters);
  if (restarted.length > 0) {
    return stepOf("compare", "Blocked", {
      message: `${countOf(restarted.length, "Deployment")} got other pods`,
      pending: restarted,
      next: [
        "When you changed them yourself, forget the state before, and run the command again:",
        // Others may have ConfigMaps with the label of the record.
        words("kubectl", "delete", "configmap", recordName, "--namespace", recordNamespace),
      ],
    });
  }
  // Upstream's operator writes its annotations on every Deployment, and each annotation raises the generation.
  const isExpected = direction === "to-upstream";
  const same = count - touched.length - gone.length;
  return stepOf("compare", isReached ? "Done" : "ToDo", {
    message: isExpected
      ? `None of ${countOf(count, "Deployment")} got other pods`
      : `${same} of ${countOf(count, "Deployment")} ${same === 1 ? "has" : "have"} the generation of before, and none got other pods`,
    pending: [
      ...(isExpected ? [] : touched.map((name) => `${name}: another generation, the same pods`)),
      ...gone.map((name) => `${name}: gone, because no component has it any more`),
    ],
  });
}

/** Stops an operator, and waits until it is at work no more. `name`: what it is called. */
export function stopStep(
  id: "stop-upstream" | "stop-knfleet",
  operator: OperatorFacts,
  { name, components }: { readonly name: string } & Pick<MigrationFacts, "components">,
): Step {
  const { controllers, holders } = operator;
  if (!isAtWork(operator)) return stepOf(id, "Done", { message: `${name} is not at work` });
  const deleting = components.filter(({ isDeleting }) => isDeleting);
  if (deleting.length > 0) {
    return stepOf(id, "Blocked", {
      message: `${name} has to remove what is being deleted first`,
      pending: deleting.map(componentName),
    });
  }
  const scaled = controllers.filter(({ wanted }) => wanted > 0);
  if (scaled.length > 0) {
    return stepOf(id, "ToDo", {
      message: `Scale ${scaled.map(controllerName).join(", ")} to 0; keep it so, also in what GitOps applies`,
    });
  }
  if (controllers.some(({ running }) => running > 0)) {
    return stepOf(id, "ToDo", { message: "Wait until its pods are gone" });
  }
  return stepOf(id, "ToDo", {
    by: "you",
    message: `${name} holds a Lease: stop it, or wait until the Lease has run out`,
    pending: holders,
  });
}

/** Refuses two operators at once. Undefined: at most one is at work. */
export function twoAtWork(
  id: "stop-upstream" | "stop-knfleet",
  { upstream, knfleet }: MigrationFacts,
): Step | undefined {
  if (!isAtWork(upstream) || !isAtWork(knfleet)) return undefined;
  const both = [...upstream.controllers, ...knfleet.controllers].filter(({ wanted }) => wanted > 0);
  return stepOf(id, "Blocked", {
    message:
      "Both operators are at work, and overwrite each other: stop one of them, and run the command again",
    pending: [...both.map(controllerName), ...upstream.holders, ...knfleet.holders],
    next: both.map(
      ({ namespace, name }) =>
        `kubectl scale deployment ${name} --namespace ${namespace} --replicas=0`,
    ),
  });
}

/** A component in a sentence, with its cluster. */
export function componentName(component: ComponentState): string {
  return `${describe(component)} on ${clusterName(component.clusterId)}`;
}

/** A Deployment in a sentence. */
export function controllerName({ namespace, name }: ControllerFact): string {
  return `Deployment ${namespace}/${name}`;
}
