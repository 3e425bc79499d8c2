import {
  installWithController,
  removeWithController,
  type ControllerRun,
  type RemovalRun,
} from "./controller-install.ts";
import { medianOf } from "./figures.ts";
import { installWithKubectl, type KubectlRun } from "./kubectl-install.ts";
import { wipe } from "./wipe.ts";
import type { Subject, Workbench } from "./workbench.ts";

export interface InstallPlan {
  readonly subject: Subject;
  readonly rttMs: number;
  readonly runs: number;
}

/** Medians of one subject at one round-trip time; byte and request figures are of the median run by time. */
export interface InstallResult {
  readonly name: Subject["name"];
  readonly title: string;
  readonly rttMs: number;
  readonly runs: number;
  readonly objects: number;
  readonly kubectl: KubectlRun;
  readonly controller: ControllerRun;
  readonly removal: RemovalRun;
}

/** Brings a first component to the subject's spoke and takes it away again, so that all later ones find the guard there. */
export async function bringGuard(bench: Workbench, subject: Subject): Promise<void> {
  await installWithController(bench, subject);
  await removeWithController(bench, subject);
  await wipe(subject.spoke, subject.manifests);
}

/** Installs the subject by kubectl and by the controller in turn, each time on an empty cluster that is guarded already. */
export async function measureInstall(
  bench: Workbench,
  { subject, rttMs, runs }: InstallPlan,
  say: (line: string) => void,
): Promise<InstallResult> {
  const kubectl: KubectlRun[] = [];
  const controller: ControllerRun[] = [];
  const removals: RemovalRun[] = [];
  for (let run = 1; run <= runs; run += 1) {
    say(`${subject.title}, RTT ${rttMs} ms, run ${run} of ${runs}`);
    subject.spoke.proxy.setRtt(rttMs);
    kubectl.push(await installWithKubectl(bench, subject));
    await wipe(subject.spoke, subject.manifests);
    controller.push(await installWithController(bench, subject));
    removals.push(await removeWithController(bench, subject));
    subject.spoke.proxy.setRtt(0);
    await wipe(subject.spoke, subject.manifests);
  }
  return {
    name: subject.name,
    title: subject.title,
    rttMs,
    runs,
    objects: subject.manifests.length,
    kubectl: { ...middleOf(kubectl), appliedMs: medianOf(kubectl.map((run) => run.appliedMs)) },
    controller: {
      ...middleOf(controller),
      appliedMs: medianOf(controller.map((run) => run.appliedMs)),
      readyMs: medianOf(controller.map((run) => run.readyMs)),
      firstStatusMs: medianOf(controller.map((run) => run.firstStatusMs)),
      readyAfterAvailableMs: medianOf(controller.map((run) => run.readyAfterAvailableMs)),
      cpuMs: medianOf(controller.map((run) => run.cpuMs)),
      // What must never be twice is not a median, and neither is what must never be.
      mostWritesOfAnObject: Math.max(...controller.map((run) => run.mostWritesOfAnObject)),
    },
    removal: {
      elapsedMs: medianOf(removals.map((run) => run.elapsedMs)),
      requests: medianOf(removals.map((run) => run.requests)),
      afterAnchor: Math.max(...removals.map((run) => run.afterAnchor)),
    },
  };
}

function middleOf<Run extends { readonly appliedMs: number }>(runs: readonly Run[]): Run {
  const sorted = runs.toSorted((a, b) => a.appliedMs - b.appliedMs);
  const middle = sorted[Math.floor((sorted.length - 1) / 2)];
  if (middle === undefined) throw new Error("Nothing was measured");
  return middle;
}
