import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";

import type { ComponentKind } from "../../api/component.ts";
import { isRecord } from "../../api/fields.ts";
import { releaseDir } from "../e2e/release-dir.ts";
import { medianOf } from "./figures.ts";
import type { RenderLoad } from "./render-load.ts";

/** Rendering a fleet of one kind from cold: medians of several processes. */
export interface RenderResult extends RenderLoad {
  readonly title: string;
}

const subjects = [
  ["KnativeServing", "Serving 1.23 + Kourier"],
  ["KnativeEventing", "Eventing 1.23"],
] as const satisfies readonly (readonly [ComponentKind, string])[];

/** Renders a thousand components of each kind in processes of their own, `runs` times. */
export async function measureRender(
  runs: number,
  say: (line: string) => void,
): Promise<readonly RenderResult[]> {
  const dir = await releaseDir();
  const results: RenderResult[] = [];
  for (const [kind, title] of subjects) {
    say(`Rendering 1,000 components: ${title}`);
    const loads: RenderLoad[] = [];
    for (let run = 0; run < runs; run += 1) loads.push(await loadOf(dir, kind));
    const [first] = loads;
    if (first === undefined) continue;
    const median = (field: "elapsedMs" | "cpuMs" | "grownBytes"): number =>
      medianOf(loads.map((load) => load[field]));
    results.push({
      ...first,
      title,
      elapsedMs: median("elapsedMs"),
      cpuMs: median("cpuMs"),
      grownBytes: median("grownBytes"),
    });
  }
  return results;
}

async function loadOf(dir: string, kind: ComponentKind): Promise<RenderLoad> {
  const script = join(import.meta.dirname, "render-load.ts");
  const child = spawn(process.execPath, [script, dir, kind], {
    stdio: ["ignore", "pipe", "inherit"],
    timeout: 60_000,
  });
  const [output] = await Promise.all([text(child.stdout), once(child, "close")]);
  const load: unknown = child.exitCode === 0 ? JSON.parse(output) : undefined;
  if (!isLoad(load)) throw new Error(`Rendering ${kind} in ${dir} failed`);
  return load;
}

function isLoad(value: unknown): value is RenderLoad {
  const fields = ["components", "sets", "elapsedMs", "cpuMs", "grownBytes"];
  return isRecord(value) && fields.every((field) => typeof value[field] === "number");
}
