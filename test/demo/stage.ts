import type { KubeObject } from "../../api/kubernetes.ts";
import type { Fleet, Profile } from "../fleet/fleet.ts";
import { conditionOf } from "../fleet/json-record.ts";
import type { DemoComponent } from "./components.ts";
import type { ControllerProcess } from "./controller-process.ts";
import type { Narrator } from "./narrator.ts";
import type { Shell } from "./shell.ts";
import { until } from "./until.ts";
import type { Workbench } from "./workbench.ts";

/** Everything that the later steps work with. */
export interface Stage {
  readonly narrator: Narrator;
  readonly shell: Shell;
  readonly fleet: Fleet;
  readonly workbench: Workbench;
  /** Profile of the spoke that has Serving. */
  readonly profile: Profile;
  readonly controller: ControllerProcess;
  /** Aborted when a person stops the demo, and when the controller ends by itself. */
  readonly signal: AbortSignal;
}

/** The component as the hub has it now. */
export function componentOf(stage: Stage, { key }: DemoComponent): Promise<KubeObject | undefined> {
  return stage.fleet.hub.admin.get(key);
}

/** Status of the condition `Ready` with its reason and message, in one line. */
export function readyText(component: KubeObject | undefined): string {
  const ready = conditionOf(component, "Ready");
  if (ready === undefined) return "no status yet";
  const { status, reason, message } = ready;
  return [`Ready=${String(status)}`, reason, message]
    .filter((part): part is string => typeof part === "string" && part !== "")
    .join("  ");
}

/** Waits until a component satisfies `holds` and returns it, with its `Ready` as progress. */
export async function awaitComponent(
  stage: Stage,
  component: DemoComponent,
  waiting: {
    readonly what: string;
    readonly timeoutMs: number;
    readonly holds: (object: KubeObject) => boolean;
  },
): Promise<KubeObject> {
  using progress = stage.narrator.progress();
  const check = async (): Promise<KubeObject | undefined> => {
    const object = await componentOf(stage, component);
    progress.update(`${component.key.kind}: ${readyText(object)}`);
    return object !== undefined && waiting.holds(object) ? object : undefined;
  };
  const { what, timeoutMs } = waiting;
  // Awaited here, because the progress ends with this function.
  return await until(check, { what, timeoutMs, signal: stage.signal });
}
