import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { eventing, serving, type DemoComponent } from "./components.ts";
import { componentOf, readyText, type Stage } from "./stage.ts";
import { until } from "./until.ts";

const main = [serving, eventing] as const;
const installTimeoutMs = 180_000;

/** Nothing is installed: what the status table says then. */
export async function showBefore({ narrator, shell }: Stage): Promise<void> {
  narrator.say("Before: the hub has no component yet, and the spokes are empty.");
  await shell.show("kubectl knfleet status -A");
  for (const { spoke } of main) {
    await shell.show(`kubectl --context ${spoke} get deployments -A`);
  }
}

/** The main job: Serving with Kourier on one spoke and Eventing on the other, until both are ready. */
export async function installBoth(stage: Stage): Promise<void> {
  const { narrator, shell, workbench } = stage;
  for (const { file, yaml } of main) {
    await writeFile(join(workbench.folder, file), yaml);
    await shell.show(`cat ${file}`);
  }
  for (const { key } of main) await shell.show(`kubectl create namespace ${key.namespace}`);
  await shell.show(main.reduce((words, { file }) => `${words} -f ${file}`, "kubectl apply"));
  narrator.say("During: the table a moment after the two files were applied.");
  await shell.show("kubectl knfleet status -A", [0, 1, 3]);
  if (await awaitBoth(stage, "begun")) {
    narrator.say("During: the first deployments are there.");
    await shell.show("kubectl knfleet status -A", [0, 1, 3]);
  }
  await awaitBoth(stage, "ready");
  for (const { argument, key } of main) {
    await shell.show(
      `kubectl wait --for=condition=Ready ${argument} -n ${key.namespace} --timeout=60s`,
    );
  }
}

/** What both spokes have now. */
export async function showAfter(stage: Stage): Promise<void> {
  const { narrator, shell } = stage;
  narrator.say(
    "HUB is what the conditions of the component say, LIVE is what the spoke itself says, asked just now through the same exec plugin as the controller's.",
  );
  await shell.show("kubectl knfleet status -A");
  await shell.show("kubectl knfleet deployments -A");
  await shell.show("kubectl get knativeservings -A");
  await shell.show("kubectl get knativeeventings -A");
  for (const component of main) await mustBeInstalled(stage, component);
}

/** Waits until both are ready, or have begun to be installed; true when they are not ready yet. */
async function awaitBoth(stage: Stage, wanted: "begun" | "ready"): Promise<boolean> {
  using progress = stage.narrator.progress();
  const check = async (): Promise<{ readonly waiting: boolean } | undefined> => {
    const counts = await Promise.all(main.map((component) => deploymentCount(stage, component)));
    const texts = counts.map(({ spoke, available, all }) => `${spoke} ${available} of ${all}`);
    progress.update(`deployments available: ${texts.join(", ")}`);
    const objects = await Promise.all(main.map((component) => componentOf(stage, component)));
    if (objects.every((object) => conditionOf(object, "Ready")?.status === "True")) {
      return { waiting: false };
    }
    const begun = counts.some(({ all }) => all > 0);
    return wanted === "begun" && begun ? { waiting: true } : undefined;
  };
  const { waiting } = await until(check, {
    what: "both components to be ready; see `kubectl knfleet status -A`",
    timeoutMs: installTimeoutMs,
    signal: stage.signal,
  });
  return waiting;
}

interface DeploymentCount {
  readonly spoke: string;
  readonly available: number;
  readonly all: number;
}

async function deploymentCount(
  { fleet }: Stage,
  { spoke, key }: DemoComponent,
): Promise<DeploymentCount> {
  const deployments = await fleet
    .spoke(spoke)
    .admin.list({ apiVersion: "apps/v1", kind: "Deployment", namespace: key.namespace });
  const available = deployments.filter(
    (deployment) => conditionOf(deployment, "Available")?.status === "True",
  );
  return { spoke, available: available.length, all: deployments.length };
}

async function mustBeInstalled(stage: Stage, component: DemoComponent): Promise<void> {
  const object = await componentOf(stage, component);
  const version = valueAt(object, "status", "version");
  const ready = conditionOf(object, "Ready")?.status === "True";
  if (ready && typeof version === "string" && version.startsWith("1.23.")) return;
  throw new Error(
    `${component.key.kind} should be ready with version 1.23, but it has version ${String(version)} and ${readyText(object)}`,
  );
}
