import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { fleetSetApiVersion } from "../../api/fleet-set.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { valueAt } from "../fleet/json-record.ts";
import { eventing, serving } from "./components.ts";
import type { Stage } from "./stage.ts";
import { until } from "./until.ts";

const { namespace } = eventing.key;
const canary = serving.spoke;
const name = "eventing";
const file = "eventing-set.yaml";
const key = { apiVersion: fleetSetApiVersion, kind: "KnativeEventingSet", namespace, name };
const set = `kes/${name} -n ${namespace}`;
const quota = `quota nothing-starts -n ${namespace}`;
const yaml = `apiVersion: knfleet.dev/v1alpha1
kind: KnativeEventingSet
metadata: { name: ${name}, namespace: ${namespace} }
spec:
  clusters:
    from: Selector
    selector: { namespaces: [fleet] }
  template:
    spec: { version: "1.22" }
  rollout:
    progressDeadline: 6s
    stages:
      - { name: canary, selector: { matchLabels: { stage: canary } } }
      - { name: rest, selector: {} }
`;

/** One set for both spokes: a new version is halted by a canary that fails, and goes on when the canary is mended. */
export async function rollOutSet(stage: Stage): Promise<void> {
  const { narrator, shell, workbench } = stage;
  await writeFile(join(workbench.folder, file), yaml);
  await shell.show(`cat ${file}`);
  await shell.show(`kubectl label clusterprofile ${canary} -n fleet stage=canary`);
  await shell.show(`kubectl apply -f ${file}`);
  await become(stage, "Complete");
  narrator.say(`Now ${canary} is broken, so that no new pod starts there, and 1.23 is wanted:`);
  await shell.show(`kubectl --context ${canary} create ${quota} --hard=pods=0`);
  const patch = JSON.stringify({ spec: { template: { spec: { version: "1.23" } } } });
  await shell.show([..."kubectl patch --type merge".split(" "), ...set.split(" "), "-p", patch]);
  await become(stage, "Halted");
  narrator.say(`The canary failed, so ${eventing.spoke} keeps 1.22:`);
  await shell.show(`kubectl knfleet rollout status ${set}`, [1, 3]);
  await shell.show("kubectl get knativeeventings -A");
  narrator.say("It is mended, and the rollout goes on by itself:");
  await shell.show(`kubectl --context ${canary} delete ${quota}`);
  await become(stage, "Complete");
  await shell.show(`kubectl knfleet rollout status ${set}`);
  await shell.show("kubectl knfleet status -A");
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
