import { once } from "node:events";

import { eventing, serving } from "./components.ts";
import type { Stage } from "./stage.ts";

/** What a person can do with the fleet now, as lines; every line can be typed as it is. */
export function invitation(stage: Pick<Stage, "workbench">): readonly string[] {
  const { folder, exports } = stage.workbench;
  return [
    ...exports,
    "",
    "kubectl knfleet status -A",
    `kubectl apply -f ${folder}/${eventing.file}          # install Eventing again`,
    `kubectl --context ${serving.spoke} delete deployments --all -n knative-serving   # watch them come back`,
    `kubectl knfleet deployments -A`,
    `tail -f ${stage.workbench.folder}/controller.log`,
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
