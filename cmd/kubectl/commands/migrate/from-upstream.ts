import { describe } from "../../../../api/kubernetes.ts";
import { countOf } from "../../output/notes.ts";
import { words } from "../../output/steps.ts";
import { isSameRelease } from "./helm-release.ts";
import {
  type ComponentState,
  type HelmRelease,
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

const chart = "oci://ghcr.io/knfleet/charts/knfleet";
const takeOver = "--take-ownership --force-conflicts";

/** The steps from upstream's operator to knfleet. Spec: docs/migrate.md, There. */
export function stepsFromUpstream(facts: MigrationFacts): readonly Step[] {
  const stop =
    twoAtWork("stop-upstream", facts) ??
    stopStep("stop-upstream", facts.upstream, { ...facts, name: "Upstream's operator" });
  const coming = [stop, installStep(facts), definitionsStep(facts), adoptionStep(facts)];
  const compare = compareStep(facts, coming);
  return withRecord(facts, [...coming, compare, removalStep(facts)]);
}

function installStep({ upstream, knfleet, components }: MigrationFacts): Step {
  const id = "install-knfleet";
  if (isServing(knfleet)) return stepOf(id, "Done", { message: "knfleet is at work" });
  const idle = knfleet.controllers.filter(({ wanted }) => wanted === 0);
  const [first] = knfleet.controllers;
  if (first !== undefined && idle.length === knfleet.controllers.length) {
    return stepOf(id, "ToDo", { message: `Scale ${controllerName(first)} to 1` });
  }
  if (first !== undefined) {
    return stepOf(id, "ToDo", {
      by: "operator",
      message: `Wait until ${controllerName(first)} is available`,
    });
  }
  const release = releaseOf(upstream);
  const isLocal = components.some(({ clusterId }) => clusterId === "");
  const local = isLocal ? "--set controller.hubInstallations=true " : "";
  return stepOf(id, "ToDo", {
    by: "you",
    message: "Install knfleet with Helm",
    next: [
      ...(release === undefined
        ? []
        : [
            "Values of upstream under knative_operator.multicluster belong under multicluster (docs/migrate.md):",
            `${words("helm", "get", "values", release.name, "--namespace", release.namespace)} --output yaml`,
          ]),
      inHelm3,
      `helm install knfleet ${chart} --namespace knfleet-system --create-namespace --values values.yaml ${local}${takeOver}`,
    ],
  });
}

function definitionsStep({ upstream, knfleet, definitions }: MigrationFacts): Step {
  const id = "own-definitions";
  const theirs = releaseOf(upstream);
  const owned = definitions.filter(({ release }) => isSameRelease(release, theirs));
  if (owned.length === 0) {
    return stepOf(id, "Done", { message: "No Helm release of upstream's operator owns the CRDs" });
  }
  const { name, namespace } = releaseOf(knfleet) ?? {
    name: "knfleet",
    namespace: "knfleet-system",
  };
  return stepOf(id, "ToDo", {
    by: "you",
    message:
      "Let Helm give the CRDs to the release of knfleet; helm install of the step before does it",
    pending: owned.map((definition) => definition.name),
    next: isServing(knfleet)
      ? [
          inHelm3,
          `${words("helm", "upgrade", name, chart, "--namespace", namespace)} --reuse-values ${takeOver}`,
        ]
      : [],
  });
}

/** The Helm release of an operator. Undefined: Helm did not install it. */
function releaseOf({ controllers }: MigrationFacts["upstream"]): HelmRelease | undefined {
  return controllers.find(({ release }) => release !== null)?.release ?? undefined;
}

function adoptionStep(facts: MigrationFacts): Step {
  const { components, record } = facts;
  const pending = components.flatMap((component) => {
    const why = unadopted(component, facts);
    if (why === undefined) return [];
    const name = componentName(component);
    // Before the migration began all of them are to do, which says nothing about any of them.
    return [record === undefined ? name : `${name}: ${why}`];
  });
  const count = countOf(components.length, "component");
  if (pending.length === 0) {
    return stepOf("take-over", "Done", { by: "operator", message: `knfleet has ${count}` });
  }
  return stepOf("take-over", "ToDo", {
    by: "operator",
    message: `knfleet takes over ${pending.length} of ${count}`,
    pending,
  });
}

function unadopted(
  { anchor, uid, place, isReady, message }: ComponentState,
  { hubId, record }: MigrationFacts,
): string | undefined {
  // Its cluster was not read, which the command says elsewhere.
  if (place === null) return undefined;
  if (anchor?.hubId !== hubId || anchor.componentUid !== uid) return "not taken over yet";
  if (!anchor.isComplete) return "begun";
  return !isReady && record?.ready.includes(uid) === true ? `not Ready: ${message}` : undefined;
}

function removalStep({ upstream, left, definitions }: MigrationFacts): Step {
  const id = "remove-upstream";
  if (left.length === 0) {
    return stepOf(id, "Done", { message: "Nothing of upstream's operator is on the hub" });
  }
  const release = releaseOf(upstream);
  const crds = definitions.length > 0 ? "; the CRDs stay" : "";
  return stepOf(id, "ToDo", {
    message:
      release === undefined
        ? `Delete ${countOf(left.length, "object")} of upstream's operator${crds}`
        : `Delete ${countOf(left.length, "object")} of the Helm release ${release.name} and its record in Helm${crds}`,
    pending: left.map(describe),
  });
}
