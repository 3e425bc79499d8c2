import { operatorApiVersion, type ComponentKind } from "../../api/component.ts";
import { openReleases } from "../../cmd/open-releases.ts";
import { asComponent } from "../../controller/component-identity.ts";
import { render } from "../../render/render.ts";
import { peakResidentBytes } from "./peak-memory.ts";

/** What a process of its own writes on standard output: rendering a fleet, from cold. */
export interface RenderLoad {
  readonly components: number;
  readonly sets: number;
  /** From opening the release directory to the last component. */
  readonly elapsedMs: number;
  /** User and system time of all threads in the same span. */
  readonly cpuMs: number;
  /** How much more memory was resident at most than before. */
  readonly grownBytes: number;
}

const components = 1000;
const differing = 50;

const [releaseDir = "", kind = "KnativeServing"] = process.argv.slice(2);
const before = await peakResidentBytes();
const startedAt = performance.now();
const startedCpu = process.cpuUsage();
const releases = await openReleases(releaseDir);
const sets = new Set<string>();
for (let index = 0; index < components; index += 1) {
  const { hash } = await render(componentAt(index, kindOf(kind)), releases);
  sets.add(hash);
}
const elapsedMs = performance.now() - startedAt;
const { user, system } = process.cpuUsage(startedCpu);
const result: RenderLoad = {
  components,
  sets: sets.size,
  elapsedMs,
  cpuMs: (user + system) / 1000,
  grownBytes: (await peakResidentBytes()) - before,
};
process.stdout.write(JSON.stringify(result));

function kindOf(text: string): ComponentKind {
  if (text === "KnativeServing" || text === "KnativeEventing") return text;
  throw new Error(`${text} is no kind of component`);
}

/** One installation of a fleet: on a cluster of its own, and every twentieth with a setting of its own. */
function componentAt(index: number, of: ComponentKind) {
  const every = components / differing;
  const own = index % every === 0 ? { logging: { "loglevel.controller": `level-${index}` } } : {};
  const ingress = of === "KnativeServing" ? { ingress: { kourier: { enabled: true } } } : {};
  const component = asComponent({
    apiVersion: operatorApiVersion,
    kind: of,
    metadata: { name: "knative", namespace: "knative", uid: `u-${index}`, resourceVersion: "1" },
    spec: {
      version: "1.23.0",
      clusterProfileRef: { name: `spoke-${index}`, namespace: "fleet" },
      config: { ...own, defaults: { "revision-timeout-seconds": "300" } },
      "high-availability": { replicas: 2 },
      ...ingress,
    },
  });
  if (component === undefined) throw new Error(`${of} is no component`);
  return component;
}
