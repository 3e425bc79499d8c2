import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { valueAt } from "../../../../fleet/json-record.ts";
import { waitFor } from "../../../../fleet/wait-for.ts";
import { mountedFile } from "./controller-deployment.ts";
import { providerOf, type World } from "./diagnose-world.ts";

/** Runs what the Job's pod says, in this process and with a plugin that is not there, and ends the pod with its report. */
export async function playKubelet(world: World): Promise<readonly string[]> {
  const { hub, folder } = world.fleet;
  const pod = await waitFor("the pod of the Job", async () => {
    const pods = await hub.admin.list({
      apiVersion: "v1",
      kind: "Pod",
      namespace: "knfleet-system",
    });
    return pods.find(({ metadata }) => metadata.name.startsWith("knfleet-diagnose-")) ?? false;
  });
  const args = valueAt(pod, "spec", "containers", "0", "args");
  const words = Array.isArray(args) ? args.map(String) : [];
  const there = await world.providers("there", providerOf("/nonexistent/there"));
  const reportFile = join(folder, "termination-log");
  const places = new Map([
    [mountedFile, there],
    ["/dev/termination-log", reportFile],
  ]);
  await world.text(words.slice(1).map((word) => places.get(word) ?? word));
  const message = await readFile(reportFile, "utf8");
  const terminated = { exitCode: 0, reason: "Completed", message };
  const status = {
    name: "diagnose",
    image: "a",
    imageID: "",
    ready: false,
    restartCount: 0,
    state: { terminated },
  };
  const key = {
    apiVersion: "v1",
    kind: "Pod",
    namespace: "knfleet-system",
    name: pod.metadata.name,
  };
  await hub.admin.patch(
    key,
    { status: { phase: "Succeeded", containerStatuses: [status] } },
    { subresource: "status" },
  );
  return words;
}
