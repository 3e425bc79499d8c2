import { once } from "node:events";
import { join } from "node:path";

import { shellWord } from "./command-line.ts";
import { eventing, serving } from "./components.ts";
import { controllerLog } from "./controller-process.ts";
import type { Stage } from "./stage.ts";
import type { Workbench } from "./workbench.ts";

/** What a person can do with the fleet now, as lines that can be typed as they are. */
export function invitation({
  folder,
  exports,
}: Pick<Workbench, "folder" | "exports">): readonly string[] {
  return [
    ...exports,
    "",
    "# the whole fleet; -o wide says more, --help says everything",
    "kubectl knfleet status -A",
    "# how the rollout of the set stands",
    `kubectl knfleet rollout status kes/eventing -n ${eventing.key.namespace}`,
    "# delete what was installed, and watch it come back",
    `kubectl --context ${serving.spoke} delete deployments --all -n ${serving.key.namespace}`,
    "kubectl knfleet deployments -A",
    "# what the controller does",
    `tail -f ${shellWord(join(folder, controllerLog))}`,
  ];
}

/** Keeps the fleet until a person stops the demo. Throws when the controller ends by itself meanwhile. */
export async function keepUntilInterrupted({ controller, signal }: Stage): Promise<void> {
  // The processes of the fleet do not keep this one alive.
  const alive = setInterval(() => undefined, 3_600_000);
  try {
    if (!signal.aborted) await once(signal, "abort");
  } finally {
    clearInterval(alive);
  }
  controller.died.throwIfAborted();
}
