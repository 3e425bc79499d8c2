import { findReleases, type FoundReleases } from "../../cmd/find-releases.ts";
import { ensureBinaries } from "../fleet/binaries.ts";
import { serverBinaries, type BinaryPaths } from "../fleet/binary-catalogue.ts";
import { startFleet, type Fleet } from "../fleet/fleet.ts";
import { reasonsOf } from "./failure.ts";
import type { Narrator } from "./narrator.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Every program that the demo needs. */
export const demoPrograms = [
  ...serverBinaries,
  "secretreader",
  "kubeconfig-secretreader",
  "kubectl",
] as const;

/** How long the programs of the demo take to build; README.md says the same. */
export const firstBuild = "about six minutes";

/** Gets every program of the fleet, building what is missing. */
export async function getPrograms(
  narrator: Narrator,
  environment: Environment,
  signal: AbortSignal,
): Promise<BinaryPaths<(typeof demoPrograms)[number]>> {
  narrator.say(
    `A hub and spokes are made of ${demoPrograms.length} programs. What is not there yet is built with Go from pinned sources: ${firstBuild} on two cores the first time, nothing later.`,
  );
  using progress = narrator.progress();
  progress.update("looking for programs");
  const path = await ensureBinaries(demoPrograms, {
    env: environment,
    signal,
    log: (line) => progress.update(line),
  });
  progress.note(`  kubectl:        ${path("kubectl")}`);
  progress.note(`  kube-apiserver: ${path("kube-apiserver")}`);
  return path;
}

/** Gets the Knative release files as every program finds them, or the sample release when they cannot be had. */
export async function getReleases(
  narrator: Narrator,
  environment: Environment,
  signal: AbortSignal,
): Promise<FoundReleases> {
  const releases = await fetched();
  const { dir, source, sampleBecause } = releases;
  if (source === "sample") {
    for (const line of sampleLines(sampleBecause)) narrator.warn(line);
  } else if (source === "named") {
    narrator.say("The folder of KNFLEET_RELEASE_DIR is used as it is.");
  } else {
    const origin = {
      cache: "All files were there",
      mirror: "Copied from the local mirror",
      download: "Downloaded",
    };
    narrator.say(`${origin[source]}; every file has the SHA-256 that releases.lock.json says.`);
  }
  narrator.say(dir);
  return releases;

  async function fetched(): Promise<FoundReleases> {
    using progress = narrator.progress();
    progress.update("checking release files");
    const onProgress = ({ done, total, path }: { done: number; total: number; path: string }) =>
      progress.update(`${done} of ${total} files: ${path}`);
    const onSlow = (line: string) => progress.update(line);
    const wanted = { environment, allowSample: true, onProgress, onSlow };
    return await findReleases(wanted, signal);
  }
}

/** Says that only the sample release is used, why, and what to do for more. */
export function sampleLines(because: Error | undefined): readonly string[] {
  const why = because === undefined ? [] : [`Why: ${reasonsOf(because).join(": ")}`];
  return [
    "The real Knative release files cannot be had, so the sample release is used: it has objects of the same kinds and names, and no real Knative in it.",
    ...why,
    "Remedy: none is needed for the demo. For Knative's own files, name a folder that has them with KNFLEET_RELEASE_DIR, or start it on a machine that can download them.",
  ];
}

/** Starts a hub and two spokes, all real control planes. */
export async function startDemoFleet(narrator: Narrator): Promise<Fleet> {
  narrator.say(
    "Three real control planes as ordinary processes on loopback ports: etcd, kube-apiserver, kube-controller-manager and kube-scheduler each. kwok plays the nodes, so pods become ready without containers.",
  );
  using progress = narrator.progress();
  progress.update("starting hub, spoke-1 and spoke-2");
  return await startFleet({ spokes: 2, log: (line) => progress.update(line) });
}
