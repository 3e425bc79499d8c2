import { join, relative } from "node:path";

import { Follower } from "../../access/time/deadline.ts";
import type { Fleet, Profile } from "../fleet/fleet.ts";
import { applyFile } from "../fleet/hub-access.ts";
import { eventing, serving } from "./components.ts";
import { startController } from "./controller-process.ts";
import { mendCredential, revokeCredential } from "./credential-fault.ts";
import { rollOutSet } from "./fleet-set.ts";
import { installBoth, showAfter, showBefore } from "./installation.ts";
import type { Narrator } from "./narrator.ts";
import { getPrograms, getReleases, startDemoFleet } from "./preparation.ts";
import { removeEventing } from "./removal.ts";
import { openShell } from "./shell.ts";
import type { Stage } from "./stage.ts";
import { openWorkbench, type Workbench } from "./workbench.ts";

/** How many steps the story has. */
export const storySteps = 12;

export interface StoryDeps {
  readonly narrator: Narrator;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly projectRoot: string;
  readonly signal: AbortSignal;
  /** Whatever is started is put here; disposing of it stops everything in reverse order. */
  readonly running: AsyncDisposableStack;
  /** Called as soon as there is a fleet. */
  readonly onFleet: (fleet: Fleet) => void;
}

/** Tells the whole story; returns when the last step worked, with everything still running. Throws `StepFailed`. */
export async function tellStory(deps: StoryDeps): Promise<Stage> {
  const { narrator, environment, signal } = deps;
  const step = <T>(title: string, run: () => Promise<T>): Promise<T> =>
    narrator.step(title, signal, run);
  const path = await step("Get the programs", () => getPrograms(narrator, environment, signal));
  const releases = await step("Get the Knative release files", () =>
    getReleases(narrator, environment, signal),
  );
  const fleet = await step("Start a hub and two spokes", () => openFleet(deps));
  const published = await step("Publish the spokes on the hub", () =>
    publishSpokes(deps, fleet, { kubectl: path("kubectl"), releaseDir: releases.dir }),
  );
  const stage = await step("Start the controller", () =>
    openStage(deps, { ...published, fleet, releaseDir: releases.dir }),
  );
  await step("Look at the fleet before", () => showBefore(stage));
  await step("Install Serving with Kourier on spoke-1, Eventing on spoke-2", () =>
    installBoth(stage),
  );
  await step("Look at the fleet after", () => showAfter(stage));
  await step("Break it: the credential of spoke-1 is revoked", () => revokeCredential(stage));
  await step("Mend it: a new credential", () => mendCredential(stage));
  await step("Remove Eventing from spoke-2", () => removeEventing(stage));
  await step("Roll Eventing out over both spokes, the canary first", () => rollOutSet(stage));
  return stage;
}

async function openFleet({ narrator, running, onFleet }: StoryDeps): Promise<Fleet> {
  const fleet = running.use(await startDemoFleet(narrator));
  onFleet(fleet);
  for (const cluster of [fleet.hub, ...fleet.spokes]) {
    narrator.say(`${cluster.name}: ${cluster.server}, processes ${cluster.pids.join(" ")}`);
  }
  narrator.say(`Data and logs: ${fleet.folder}`);
  return fleet;
}

interface Published {
  readonly workbench: Workbench;
  readonly profile: Profile;
  readonly providerFile: string;
}

/** One spoke by each of the official exec plugins. */
async function publishSpokes(
  deps: StoryDeps,
  fleet: Fleet,
  found: { readonly kubectl: string; readonly releaseDir: string },
): Promise<Published> {
  const { narrator, signal } = deps;
  const providerFile = await fleet.providerFile();
  const workbench = await openWorkbench({ ...deps, ...found, fleet, providerFile });
  const shell = openShell({ workbench, narrator, signal });
  await shell.show("kubectl --context spoke-1 get nodes");
  narrator.say(
    "On each spoke: a ServiceAccount with the ClusterRole of docs/spoke-role.yaml, no administrator. On the hub: its token in a Secret, and a ClusterProfile that says where the spoke is and which exec plugin gives access.",
  );
  const profile = await fleet.addProfile(fleet.spoke(serving.spoke), { plugin: "secretreader" });
  await fleet.addProfile(fleet.spoke(eventing.spoke), { plugin: "kubeconfig-secretreader" });
  const columns = ["NAME:.metadata.name", "PLUGIN:.status.accessProviders[*].name"];
  await shell.show([
    ..."kubectl get clusterprofiles -n fleet -o".split(" "),
    `custom-columns=${columns.join(",")}`,
  ]);
  return { workbench, profile, providerFile };
}

async function openStage(
  { narrator, projectRoot, running, signal }: StoryDeps,
  parts: Published & { readonly fleet: Fleet; readonly releaseDir: string },
): Promise<Stage> {
  const { fleet, workbench, profile, providerFile, releaseDir } = parts;
  const { folder } = workbench;
  narrator.say(
    "As its own process, with the rights of ServiceAccount knfleet-system/knfleet-controller on the hub.",
  );
  const kubeconfig = await fleet.controllerKubeconfig();
  await applyFile(fleet.hub, join(projectRoot, "docs/sets-role.yaml"));
  const options = { folder, projectRoot, kubeconfig, providerFile, releaseDir };
  const controller = running.use(await startController(options, signal));
  narrator.command(["node", ...controller.words.slice(1).map((word) => nearer(word, projectRoot))]);
  narrator.say(`Ready: process ${controller.pid}, log ${controller.logFile}`);
  const either = new Follower(signal, controller.died).signal;
  return {
    narrator,
    shell: openShell({ workbench, narrator, signal: either }),
    fleet,
    workbench,
    profile,
    controller,
    signal: either,
  };
}

function nearer(word: string, projectRoot: string): string {
  return word.startsWith(`${projectRoot}/cmd/`) ? relative(projectRoot, word) : word;
}
