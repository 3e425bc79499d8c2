import { timestampOf } from "../../../../api/conditions.ts";
import { steering } from "../../../../api/fleet-set.ts";
import { deeds } from "../../../../sets/status/record-entry.ts";
import { RolloutScene } from "../../../cmd/kubectl/commands/rollout/rollout-scene.ts";
import type { CommandBench } from "../command-bench.ts";
import type { CommandCase } from "../command-case.ts";

type Way = (scene: RolloutScene) => Promise<void>;

function line(verb: string, ...more: readonly string[]): readonly string[] {
  return ["rollout", verb, "kss/prod", "-n", "platform", ...more];
}

/** A command that steers the set `prod`, which is in the state that `way` gives it. */
function steers(verb: string, way: Way, more: readonly string[] = []): CommandCase {
  return {
    command: `rollout ${verb}`,
    clusters: ["hub"],
    prepare: (bench) => prepare(bench, way),
    line: line(verb, ...more),
    dryRun: line(verb, ...more, "--dry-run"),
  };
}

async function prepare({ fleet: { hub } }: CommandBench, way: Way): Promise<void> {
  const scene = new RolloutScene(hub.admin);
  await scene.make();
  const { approve, pause, retry, acceptSelection, skipStages, abort } = steering;
  const did = deeds.map((deed) => `${steering.did}${deed}`);
  const own = [pause, retry, acceptSelection, skipStages, abort];
  const written = [`${approve}canary-after`, ...own, ...did];
  await scene.annotate(Object.fromEntries(written.map((name) => [name, null])));
  await scene.reset();
  await way(scene);
}

const suspicious: Way = (scene) =>
  scene.setStatus("Rolling", "Rolling", {
    conditions: [
      {
        type: "Selected",
        status: "False",
        reason: "SuspiciousShrink",
        message: `It lost many; the annotation ${steering.acceptSelection} is 0123456789`,
        lastTransitionTime: timestampOf(new Date()),
      },
    ],
  });

const rolling: Way = (scene) => scene.setStatus("Rolling", "Rolling");

/** The commands that steer a rollout. Each writes once. */
export const rolloutCases: readonly CommandCase[] = [
  steers("approve", (scene) => scene.setStatus("AwaitingApproval", "AwaitingApproval")),
  { ...steers("pause", rolling, ["--reason", "bench"]), counterpart: line("resume") },
  {
    ...steers("resume", async (scene) => {
      await rolling(scene);
      await scene.annotate({ [steering.pause]: "bench" });
    }),
    counterpart: line("pause", "--reason", "bench"),
  },
  steers("retry", (scene) => scene.setStatus("Halted", "Halted")),
  steers("skip", rolling, ["--stage", "canary", "--reason", "bench"]),
  steers("abort", rolling, ["--reason", "bench"]),
  steers("accept-selection", suspicious),
  { ...steers("undo", rolling, ["--apply"]), command: "rollout undo --apply", isOnce: true },
];
