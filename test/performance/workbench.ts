import { join } from "node:path";

import { componentKinds, type ComponentKind } from "../../api/component.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import { openReleases } from "../../cmd/open-releases.ts";
import { asComponent } from "../../controller/component-identity.ts";
import { render } from "../../render/render.ts";
import { buildDist } from "../build/dist-folder.ts";
import { componentOf } from "../e2e/installation.ts";
import { releaseDir } from "../e2e/release-dir.ts";
import { ensureBinaries } from "../fleet/binaries.ts";
import { startFleet, type Cluster, type Fleet, type Profile } from "../fleet/fleet.ts";
import { startControllerProcess, type ControllerProcess } from "../support/controller-process.ts";
import { keepGuard } from "./kept-guard.ts";

/** What is installed in the benchmark, and on which spoke. */
export interface Subject {
  readonly name: "eventing" | "serving";
  readonly title: string;
  readonly kind: ComponentKind;
  readonly spoke: Cluster;
  readonly profile: Profile;
  /** Exactly what the controller applies, its namespace included; kubectl gets the same. */
  readonly manifests: readonly Manifest[];
}

/** The fleet, the controller and the peer of one benchmark run. */
export interface Workbench extends AsyncDisposable {
  readonly fleet: Fleet;
  readonly controller: ControllerProcess;
  readonly kubectl: string;
  readonly subjects: readonly Subject[];
}

/** Starts a hub, two spokes behind delay proxies, and the controller; nothing is installed yet. */
export async function startWorkbench(log: (line: string) => void): Promise<Workbench> {
  await using undo = new AsyncDisposableStack();
  const fleet = undo.use(await startFleet({ spokes: 2, log }));
  await keepGuard(fleet);
  const kubectl = (await ensureBinaries(["kubectl"], { log }))("kubectl");
  const dir = await releaseDir();
  // As it is shipped: the sources take 15 MB more.
  const dist = undo.use(await buildDist());
  const subjects = [
    await subjectOf(fleet, 0, { name: "eventing", title: "Eventing 1.23", dir }),
    await subjectOf(fleet, 1, { name: "serving", title: "Serving 1.23 + Kourier", dir }),
  ];
  const controller = undo.use(
    await startControllerProcess({
      program: dist.path("knfleet-controller.js"),
      kubeconfig: await fleet.controllerKubeconfig(),
      providerFile: await fleet.providerFile(),
      releaseDir: dir,
    }),
  );
  const running = undo.move();
  return {
    fleet,
    controller,
    kubectl,
    subjects,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

interface Plan {
  readonly name: Subject["name"];
  readonly title: string;
  readonly dir: string;
}

async function subjectOf(fleet: Fleet, position: number, plan: Plan): Promise<Subject> {
  const spoke = fleet.spoke(position);
  const profile = await fleet.addProfile(spoke, { plugin: "kubeconfig-secretreader" });
  const kind = plan.name === "eventing" ? "KnativeEventing" : "KnativeServing";
  const { name, title, dir } = plan;
  const manifests = await manifestsOf(kind, dir);
  return { name, title, kind, spoke, profile, manifests };
}

/** What the controller applies for a component of the kind as the benchmark wants it. */
export async function manifestsOf(kind: ComponentKind, dir: string): Promise<readonly Manifest[]> {
  const wanted = componentOf({ kind });
  const metadata = { ...wanted.metadata, name: componentKinds[kind].label };
  const component = asComponent({
    ...wanted,
    metadata: { ...metadata, uid: "rendered-for-the-benchmark", resourceVersion: "1" },
  });
  if (component === undefined) throw new Error(`${kind} is no component`);
  const { manifests } = await render(component, await openReleases(dir));
  return manifests;
}

/** Where the benchmark keeps its own files. */
export function scratch(fleet: Fleet, file: string): string {
  return join(fleet.folder, file);
}
