import { pause } from "../../../../access/time/clock.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import { keyOf } from "../../../../api/kubernetes.ts";
import { deployController } from "../../../cmd/kubectl/commands/diagnose/controller-deployment.ts";
import type { Cluster } from "../../../fleet/fleet.ts";
import { valueAt } from "../../../fleet/json-record.ts";
import type { CommandBench } from "../command-bench.ts";
import type { CommandCase } from "../command-case.ts";
import { addSpokeProfile } from "./spoke-profile.ts";

const walk = ["diagnose", "fleet/spoke-1", "--fail-on", "never"];
const line = [...walk, "--from", "controller", "--yes"];

/** `diagnose --from controller`: its Job is there as long as it runs. */
export const diagnoseCases: readonly CommandCase[] = [
  {
    command: "diagnose --from controller",
    prepare,
    line,
    dryRun: walk,
    beside: ({ fleet }) => playKubelet(fleet.hub),
    warns: /^warning: Job knfleet-system\/knfleet-diagnose-\w+ may be left/m,
    // After a death nobody is left who could delete it.
    expires: /\|Job\|knfleet-system\|knfleet-diagnose-\*$/,
  },
];

async function prepare(bench: CommandBench): Promise<void> {
  const { fleet } = bench;
  const { admin } = fleet.hub;
  const type = { apiVersion: "batch/v1", kind: "Job" };
  // What the trial before has left on purpose.
  for (const job of await admin.list({ ...type, namespace: "knfleet-system" })) {
    // oxlint-disable-next-line no-await-in-loop -- one or none
    await admin.remove(keyOf({ ...job, ...type }));
  }
  await addSpokeProfile(bench);
  await deployController(fleet, await fleet.providerFile());
}

/** What the Job's pod says at its end. */
const report = JSON.stringify({
  knfleet: "diagnosis/v1",
  walks: [
    {
      target: { kind: "ClusterProfile", namespace: "fleet", name: "spoke-1" },
      hops: [["hub", "OK", 1, "", ""]],
    },
  ],
});

/** Ends the pods of the Jobs with a report: no node takes them. */
function playKubelet(hub: Cluster): AsyncDisposable {
  const end = new AbortController();
  const playing = play(hub, end.signal);
  return {
    async [Symbol.asyncDispose]() {
      end.abort();
      await playing;
    },
  };
}

async function play({ admin }: Cluster, signal: AbortSignal): Promise<void> {
  const type = { apiVersion: "v1", kind: "Pod" };
  while (!signal.aborted) {
    // oxlint-disable no-await-in-loop -- one look after the other
    const pods = await admin.list({ ...type, namespace: "knfleet-system" });
    const started = pods.filter(
      (pod) =>
        pod.metadata.name.startsWith("knfleet-diagnose-") &&
        valueAt(pod, "status", "phase") === "Pending",
    );
    for (const pod of started) {
      // It may be deleted meanwhile.
      await admin
        .patch(keyOf({ ...type, ...pod }), { status: ended }, { subresource: "status" })
        .catch(() => undefined);
    }
    await pause(systemClock, 300, signal).catch(() => undefined);
    // oxlint-enable no-await-in-loop
  }
}

const ended = {
  phase: "Succeeded",
  containerStatuses: [
    {
      name: "diagnose",
      image: "a",
      imageID: "",
      ready: false,
      restartCount: 0,
      state: { terminated: { exitCode: 0, reason: "Completed", message: report } },
    },
  ],
};
