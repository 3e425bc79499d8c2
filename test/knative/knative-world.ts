import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ensureBinaries } from "../fleet/binaries.ts";
import { knativeBinaries, type KnativeBinary } from "../fleet/binary-catalogue.ts";
import { startFleet, type Cluster, type Fleet, type Profile } from "../fleet/fleet.ts";
import { applyFile } from "../fleet/hub-access.ts";
import { startWatchdog, type Watchdog } from "../fleet/watchdog.ts";
import { startControllerProcess } from "../support/controller-process.ts";
import { knativePods, startKnativePod } from "./knative-pods.ts";

const setsRoleFile = join(import.meta.dirname, "../../docs/sets-role.yaml");

/** A hub with a real controller, and a spoke on which Knative's own programs play its pods. */
export interface KnativeWorld extends AsyncDisposable {
  readonly fleet: Fleet;
  readonly hub: Cluster;
  readonly spoke: Cluster;
  readonly profile: Profile;
  /** A spoke without Knative's programs, and its profile. */
  readonly other: { readonly spoke: Cluster; readonly profile: Profile };
  readonly providerFile: string;
  readonly releaseDir: string;
  readonly say: (line: string) => void;
  /** Starts Knative's programs as the Deployments on the spoke have them now, in place of those that run. */
  readonly startPrograms: () => Promise<void>;
  /** Ends them; their webhooks answer no more. */
  readonly stopPrograms: () => Promise<void>;
  /** The end of what each program wrote, for a failure. */
  readonly lastWords: () => Promise<string>;
}

/** Builds what is missing and starts everything but Knative's programs, which need an installation. */
export async function startKnativeWorld(
  releaseDir: string,
  say: (line: string) => void,
): Promise<KnativeWorld> {
  const binary = await ensureBinaries(knativeBinaries, { log: say });
  await using undo = new AsyncDisposableStack();
  const spokes = [{ admissionWebhooks: true, egress: true }, {}];
  const fleet = undo.use(await startFleet({ spokes, log: say }));
  const { hub } = fleet;
  const spoke = fleet.spoke(0);
  const profile = await fleet.addProfile(spoke, { plugin: "secretreader" });
  const other = {
    spoke: fleet.spoke(1),
    profile: await fleet.addProfile(fleet.spoke(1), { plugin: "secretreader" }),
  };
  await applyFile(hub, setsRoleFile);
  const providerFile = await fleet.providerFile();
  const kubeconfig = await fleet.controllerKubeconfig();
  undo.use(
    await startControllerProcess({
      kubeconfig,
      providerFile,
      releaseDir,
      readyTimeoutMs: 120_000,
      flags: ["--sets"],
    }),
  );
  // The watchdog removes it when this process dies.
  const folder = await mkdtemp(join(tmpdir(), "knative-"));
  undo.defer(() => rm(folder, { recursive: true, force: true }));
  const watchdog = undo.use(startWatchdog(folder));
  const programs = new Programs({ cluster: spoke, binary, watchdog, folder });
  undo.defer(() => programs.stop());
  const running = undo.move();
  return {
    fleet,
    hub,
    spoke,
    profile,
    other,
    providerFile,
    releaseDir,
    say,
    startPrograms: () => programs.start(),
    stopPrograms: () => programs.stop(),
    lastWords: () => lastWordsIn(folder),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

interface ProgramDeps {
  readonly cluster: Cluster;
  readonly binary: (name: KnativeBinary) => string;
  readonly watchdog: Watchdog;
  readonly folder: string;
}

class Programs {
  readonly #deps: ProgramDeps;
  #running: readonly AsyncDisposable[] = [];

  constructor(deps: ProgramDeps) {
    this.#deps = deps;
  }

  async start(): Promise<void> {
    await this.stop();
    const pods = knativePods.map((pod) => startKnativePod(pod, this.#deps));
    const started = await Promise.allSettled(pods);
    this.#running = started.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    for (const one of started) if (one.status === "rejected") throw one.reason;
  }

  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = [];
    await Promise.all(running.map((pod) => pod[Symbol.asyncDispose]()));
  }
}

const shownLines = 8;
const longestLine = 300;

async function lastWordsIn(folder: string): Promise<string> {
  const logs = knativePods.map(async ({ binary }) => {
    const log = await readFile(join(folder, `${binary}.log`), "utf8").catch(() => "");
    const lines = log.trimEnd().split("\n").slice(-shownLines);
    return [`${binary}:`, ...lines.map((line) => `  ${line.slice(0, longestLine)}`)].join("\n");
  });
  return (await Promise.all(logs)).join("\n");
}
