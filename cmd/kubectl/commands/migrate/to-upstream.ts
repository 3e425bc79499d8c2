import type { Component } from "../../../../api/component.ts";
import { describe } from "../../../../api/kubernetes.ts";
import { nameOf } from "../../output/names.ts";
import { countOf } from "../../output/notes.ts";
import {
  type AnchorState,
  clusterName,
  type ComponentState,
  type ControllerFact,
  isServing,
  type MigrationFacts,
} from "./migration-facts.ts";
import {
  compareStep,
  componentName,
  controllerName,
  inHelm3,
  type Step,
  stepOf,
  stopStep,
  twoAtWork,
  withRecord,
} from "./step.ts";

/** The steps from knfleet back to upstream's operator. Spec: docs/migrate.md, Back. */
export function stepsToUpstream(facts: MigrationFacts): readonly Step[] {
  const stop =
    twoAtWork("stop-knfleet", facts) ??
    setsStep(facts) ??
    misplacedStep(facts) ??
    stopStep("stop-knfleet", facts.knfleet, { ...facts, name: "knfleet" });
  const going = [stop, guardStep(facts), giveBackStep(facts), startStep(facts), returnStep(facts)];
  return withRecord(facts, [...going, compareStep(facts, going)]);
}

/** Only knfleet can take its marks off the components of a set, by the set's finalizer. */
function setsStep({ sets }: MigrationFacts): Step | undefined {
  if (sets.length === 0) return undefined;
  const deleting = sets.filter(({ deletesComponents }) => deletesComponents);
  const keep = `-p '{"spec":{"deletionPolicy":"Orphan"}}'`;
  return stepOf("stop-knfleet", "Blocked", {
    message:
      "Upstream's operator does not know fleet sets: delete them while knfleet is at work, which leaves their components",
    pending: deleting.map(
      (set) => `${describe(set)} has deletionPolicy Delete: its components would go with it`,
    ),
    next: [
      ...deleting.map(
        (set) => `kubectl patch ${nameOf(set)} -n ${set.namespace} --type=merge ${keep}`,
      ),
      ...sets.map((set) => `kubectl delete ${nameOf(set)} -n ${set.namespace}`),
    ],
  });
}

/** An older operator of upstream would install a second time what is not in the namespace of its component. */
function misplacedStep({ upstream, components }: MigrationFacts): Step | undefined {
  const old = upstream.controllers.find(isOlder);
  const misplaced = components.filter(
    ({ place, namespace }) => place !== null && place !== namespace,
  );
  if (old === undefined || misplaced.length === 0) return undefined;
  return stepOf("stop-knfleet", "Blocked", {
    message: `${controllerName(old)} has version ${old.version ?? "unknown"}: before 1.24 upstream's operator looks on a spoke only in the namespace that the component has on the hub`,
    pending: misplaced.map(
      (component) => `${componentName(component)}: in ${component.place ?? ""}`,
    ),
    next: ["Upgrade upstream's operator to 1.24 or newer, with 0 replicas."],
  });
}

function isOlder({ version }: ControllerFact): boolean {
  const [major = 0, minor = 0] = (version ?? "").split(".").map(Number);
  return major === 1 && minor < 24;
}

function guardStep({ clusters }: MigrationFacts): Step {
  const guarded = clusters.filter(({ guards }) => guards > 0);
  if (guarded.length === 0) {
    return stepOf("remove-guard", "Done", { message: "No cluster has a guard of this hub" });
  }
  return stepOf("remove-guard", "ToDo", {
    message: `Remove the protection of the anchors from ${countOf(guarded.length, "cluster")}: bindings, policies, labels`,
    pending: guarded.map(({ id }) => clusterName(id)),
  });
}

/** Whether the installation of a component is marked as that of this hub. */
function isOurs({ anchor }: ComponentState, hubId: string): boolean {
  return anchor?.hubId === hubId;
}

/** The installations that are marked as those of this hub, each with its anchor. */
export function markedInstallations({
  facts: { components: states, hubId },
  components,
}: {
  readonly facts: MigrationFacts;
  readonly components: readonly Component[];
}): readonly { readonly component: Component; readonly anchor: AnchorState }[] {
  const ours = states.filter((state) => isOurs(state, hubId));
  const anchors = new Map(ours.map(({ uid, anchor }) => [uid, anchor]));
  return components.flatMap((component) => {
    const anchor = anchors.get(component.metadata.uid) ?? null;
    return anchor === null ? [] : [{ component, anchor }];
  });
}

function giveBackStep({ components, hubId }: MigrationFacts): Step {
  const ours = components.filter((component) => isOurs(component, hubId));
  if (ours.length === 0) {
    return stepOf("give-back", "Done", { message: "No installation has marks of this hub" });
  }
  return stepOf("give-back", "ToDo", {
    message: `Take the labels of knfleet off ${countOf(ours.length, "installation")}, with the second owner and finished Jobs`,
    pending: ours.map(componentName),
  });
}

function startStep({ upstream }: MigrationFacts): Step {
  const id = "start-upstream";
  if (isServing(upstream)) return stepOf(id, "Done", { message: "Upstream's operator is at work" });
  const [first] = upstream.controllers;
  if (first === undefined) {
    return stepOf(id, "ToDo", {
      by: "you",
      message: "Install upstream's operator with Helm, or start it",
      next: [
        inHelm3,
        "helm install knative-operator knative-operator/knative-operator --namespace knative-operator --create-namespace --take-ownership --force-conflicts",
      ],
    });
  }
  return first.wanted === 0
    ? stepOf(id, "ToDo", { message: `Scale ${controllerName(first)} to 1` })
    : stepOf(id, "ToDo", {
        by: "operator",
        message: `Wait until ${controllerName(first)} is available`,
      });
}

function returnStep({ components, clusters, record }: MigrationFacts): Step {
  const pending = components.flatMap((component) => {
    const { clusterId, place, isReady, uid, message } = component;
    const workloads = clusters.find(({ id }) => id === clusterId)?.workloads ?? [];
    const own = workloads.filter(({ namespace }) => namespace === place);
    const left = own.filter(({ isUpstreams }) => !isUpstreams);
    if (left.length > 0) {
      return [
        `${componentName(component)}: upstream's operator has not written ${left.length} of ${countOf(own.length, "Deployment")}`,
      ];
    }
    const isWorse = !isReady && record?.ready.includes(uid) === true;
    return isWorse ? [`${componentName(component)}: not Ready: ${message}`] : [];
  });
  const count = countOf(components.length, "component");
  return pending.length === 0
    ? stepOf("take-over", "Done", { by: "operator", message: `Upstream's operator has ${count}` })
    : stepOf("take-over", "ToDo", {
        by: "operator",
        message: `Upstream's operator takes over ${pending.length} of ${count}`,
        pending,
      });
}
