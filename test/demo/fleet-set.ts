import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { fleetSetApiVersion } from "../../api/fleet-set.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { valueAt } from "../fleet/json-record.ts";
import { eventing, serving } from "./components.ts";
import { listWorkloadsYaml, ordersYaml, playKnative } from "./orders.ts";
import type { Stage } from "./stage.ts";
import { until } from "./until.ts";

const { namespace } = eventing.key;
const canary = serving.spoke;
const name = "eventing";
const key = { apiVersion: fleetSetApiVersion, kind: "KnativeEventingSet", namespace, name };
const child = { ...eventing.key, name: `${name}-${canary}` };
const set = `kes/${name} -n ${namespace}`;
const files = {
  "eventing-set.yaml": `apiVersion: knfleet.dev/v1alpha1
kind: KnativeEventingSet
metadata: { name: ${name}, namespace: ${namespace} }
spec:
  clusters:
    from: Selector
    selector: { namespaces: [fleet] }
  template:
    spec: { version: "1.22" }
  rollout:
    stages:
      - name: canary
        selector: { matchLabels: { stage: canary } }
        verify: { workloads: { within: 2s } }
      - { name: rest, selector: {} }
`,
  "list-workloads.yaml": listWorkloadsYaml,
  "orders.yaml": ordersYaml,
};

/** One set for both spokes: a new version is halted by a canary whose Deployments are available and whose users have a Trigger that broke; the set goes back. */
export async function rollOutSet(stage: Stage): Promise<void> {
  const { narrator, shell, workbench, fleet } = stage;
  for (const [file, yaml] of Object.entries(files)) {
    await writeFile(join(workbench.folder, file), yaml);
  }
  await shell.show("cat eventing-set.yaml");
  await shell.show(`kubectl label clusterprofile ${canary} -n fleet stage=canary`);
  narrator.say("The hub may list what teams have on the spokes, which the set verifies:");
  for (const { name: spoke } of fleet.spokes) {
    await shell.show(`kubectl --context ${spoke} apply -f list-workloads.yaml`);
  }
  await shell.show("kubectl apply -f eventing-set.yaml");
  await become(stage, "Complete");
  await breakCanary(stage);
  narrator.say(
    `${eventing.spoke} keeps 1.22, although all Deployments of the canary are available:`,
  );
  await shell.show(`kubectl knfleet rollout status ${set}`, [1, 3]);
  await shell.show("kubectl knfleet status -A");
  await shell.show("kubectl knfleet workloads -A --broken");
  narrator.say("Back to 1.22:");
  await shell.show(`kubectl knfleet rollout undo ${set} --apply`);
  await playKnative(fleet.spoke(canary), "True");
  await become(stage, "Complete");
  await shell.show("kubectl knfleet workloads -A");
}

/** A team uses the canary, and what it has breaks with the upgrade. */
async function breakCanary(stage: Stage): Promise<void> {
  const { narrator, shell, fleet, signal } = stage;
  narrator.say(
    "A team has a Trigger on the canary. Pods are played here, so the demo also writes what Knative would say of the Trigger; npm run knative runs Knative itself.",
  );
  await shell.show(`kubectl --context ${canary} apply -f orders.yaml`);
  await playKnative(fleet.spoke(canary), "True");
  // The Trigger has to be a second older than the upgrade.
  const second = delay(1_000, undefined, { signal });
  await Promise.all([shell.show("kubectl knfleet workloads -A"), second]);
  narrator.say("Now 1.23 is wanted, with which the Trigger of the team breaks:");
  const patch = JSON.stringify({ spec: { template: { spec: { version: "1.23" } } } });
  await shell.show([..."kubectl patch --type merge".split(" "), ...set.split(" "), "-p", patch]);
  const isStamped = async (): Promise<true | undefined> => {
    const version = valueAt(await fleet.hub.admin.get(child), "spec", "version");
    return String(version).startsWith("1.23.") ? true : undefined;
  };
  await until(isStamped, { what: "the canary to be upgraded", timeoutMs: 60_000, signal });
  await playKnative(fleet.spoke(canary), "False");
  await become(stage, "Halted");
}

/** Waits until the set has a phase for the spec that it has now. */
async function become({ fleet, narrator, signal }: Stage, wanted: string): Promise<void> {
  using progress = narrator.progress();
  const check = async (): Promise<true | undefined> => {
    const object = await fleet.hub.admin.get(key);
    const isObserved =
      valueAt(object, "status", "observedGeneration") === object?.metadata.generation;
    progress.update(
      `the set: ${isObserved ? phaseText(object) : "not yet seen by the controller"}`,
    );
    return isObserved && valueAt(object, "status", "rollout", "phase") === wanted
      ? true
      : undefined;
  };
  await until(check, { what: `the set to be ${wanted}`, timeoutMs: 180_000, signal });
}

/** Phase of the rollout and what it waits for; never empty. */
export function phaseText(object: KubeObject | undefined): string {
  const { phase, waitingFor } = Object(valueAt(object, "status", "rollout"));
  if (typeof phase !== "string") return "no status yet";
  return [phase, waitingFor].filter((part) => typeof part === "string").join("  ");
}
