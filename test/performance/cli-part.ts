import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { text } from "node:stream/consumers";

import { componentKinds, operatorApiVersion } from "../../api/component.ts";
import { buildDist, type DistFolder } from "../build/dist-folder.ts";
import { ensureBinaries } from "../fleet/binaries.ts";
import { startFleet, type Fleet } from "../fleet/fleet.ts";
import { credentialNamespace } from "../fleet/profiles.ts";
import { medianOf, megabytes, seconds } from "./figures.ts";
import type { Goal } from "./goals.ts";
import { runMeasured } from "./measured-program.ts";

/** `kubectl knfleet` as it is packed, on a hub with 200 components. */
export interface CliResult {
  /** CPU of `kubectl-knfleet --help` above that of an empty script: median. */
  readonly helpCpuMs: number;
  /** From the start of kubectl to the first row of `status -A --no-live`: median. */
  readonly firstRowMs: number;
  /** `status -A` to its end; ten of the spokes take connections and never answer. */
  readonly statusMs: number;
  readonly residentBytes: number;
  /** Rows that tell a spoke's answer, and rows that tell that there was none. */
  readonly answered: number;
  readonly unanswered: number;
}

const spokes = 200;
const dead = 10;
const spokeTimeoutMs = 10_000;
const starts = 15;

interface Bench {
  readonly dist: DistFolder;
  readonly fleet: Fleet;
  readonly providerFile: string;
  readonly env: Readonly<Record<string, string>>;
  readonly kubectl: string;
}

/** Builds the plugin, starts a hub and one spoke that 200 ClusterProfiles lead to, and measures. */
export async function measureCli(say: (line: string) => void): Promise<CliResult> {
  say("CLI: building");
  await using dist = await buildDist();
  const helpCpuMs = await helpCpu(dist);
  await using fleet = await startFleet({
    spokes: [{ name: "spoke-1", kwok: false }],
    log: say,
  });
  say(`CLI: publishing ${spokes} spokes`);
  await publish(fleet);
  const bench: Bench = { dist, fleet, ...(await plugin(dist, fleet)) };
  say("CLI: first rows");
  const rows: number[] = [];
  for (let run = 0; run < starts; run += 1) rows.push(await firstRow(bench));
  say(`CLI: the status of ${spokes} spokes, of which ${dead} are dead`);
  return { helpCpuMs, firstRowMs: medianOf(rows), ...(await wholeFleet(bench)) };
}

const ms = (value: number): string => `${value.toFixed(0)} ms`;

/** What the command line may cost. */
export function cliGoals(result: CliResult): readonly Goal[] {
  return [
    {
      text: "kubectl knfleet --help: CPU above an empty script",
      value: result.helpCpuMs,
      limit: 60,
      show: ms,
    },
    {
      text: `status --no-live of ${spokes} components: first row, kubectl included`,
      value: result.firstRowMs,
      limit: 300,
      show: ms,
    },
    {
      text: `status of ${spokes} spokes, ${dead} of them dead`,
      value: result.statusMs,
      limit: spokeTimeoutMs + 2_000,
      show: seconds,
    },
    { text: "The same: memory", value: result.residentBytes, limit: 150_000_000, show: megabytes },
    {
      text: `The same: rows that are wrong (${result.answered} answered, ${result.unanswered} not)`,
      value: Math.abs(result.answered - (spokes - dead)) + Math.abs(result.unanswered - dead),
      limit: 0,
    },
  ];
}

/** Each program says at its end what it has used. */
async function helpCpu(dist: DistFolder): Promise<number> {
  const hook = dist.path("../cpu.cjs");
  const empty = dist.path("../empty.js");
  await writeFile(
    hook,
    'process.on("exit", () => require("node:fs").writeSync(3, JSON.stringify(process.cpuUsage())));',
  );
  await writeFile(empty, "");
  const env = { HOME: dist.path("..") };
  const cpuOf = async (...words: readonly string[]): Promise<number> => {
    const child = spawn(process.execPath, ["--require", hook, ...words], {
      env,
      stdio: ["ignore", "ignore", "inherit", "pipe"],
    });
    const told = child.stdio[3];
    if (told === null || told === undefined || !("readable" in told)) throw new Error("No pipe");
    const [usage] = await Promise.all([text(told), once(child, "close")]);
    const { user, system } = JSON.parse(usage);
    return (user + system) / 1_000;
  };
  const file = dist.path("kubectl-knfleet.js");
  // The first start compiles, and keeps what it compiled.
  await cpuOf(file, "--help");
  const [base, help]: [number[], number[]] = [[], []];
  for (let run = 0; run < starts; run += 1) {
    base.push(await cpuOf(empty));
    help.push(await cpuOf(file, "--help"));
  }
  return medianOf(help) - medianOf(base);
}

/** The last profiles lead to a way that takes connections and lets nothing through. */
async function publish(fleet: Fleet): Promise<void> {
  const { hub } = fleet;
  await hub.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "many" } });
  for (let first = 0; first < spokes; first += 20) {
    const batch = Array.from({ length: 20 }, async (_, at) => {
      const index = first + at;
      const name = `spoke-${index}`;
      const via = index % (spokes / dead) === 7 ? "proxy" : "direct";
      await fleet.addProfile(fleet.spoke(0), {
        plugin: "secretreader",
        namespace: "many",
        name,
        via,
      });
      const kind = "KnativeServing";
      const metadata = { namespace: "many", name: `${componentKinds[kind].label}-${index}` };
      const spec = { clusterProfileRef: { namespace: "many", name } };
      await hub.admin.apply({ apiVersion: operatorApiVersion, kind, metadata, spec });
    });
    await Promise.all(batch);
  }
  await fleet.spoke(0).proxy.setMode("blackhole");
}

async function plugin(
  dist: DistFolder,
  fleet: Fleet,
): Promise<Pick<Bench, "providerFile" | "env" | "kubectl">> {
  const kubectl = (await ensureBinaries(["kubectl"]))("kubectl");
  const bin = dist.path("../bin");
  await mkdir(bin);
  await symlink(dist.path("kubectl-knfleet.js"), join(bin, "kubectl-knfleet"));
  const execConfig = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: "builtin:secretreader",
    env: [{ name: "POD_NAMESPACE", value: credentialNamespace }],
    provideClusterInfo: true,
  };
  const providerFile = join(fleet.folder, "built-in.json");
  await writeFile(
    providerFile,
    JSON.stringify({ providers: [{ name: "secretreader", execConfig }] }),
  );
  const env = {
    PATH: [dirname(process.execPath), bin, "/usr/bin", "/bin"].join(delimiter),
    HOME: dist.path(".."),
    KUBECONFIG: fleet.hub.adminKubeconfigPath,
  };
  return { providerFile, env, kubectl };
}

async function firstRow({ kubectl, env }: Bench): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(kubectl, ["knfleet", "status", "-A", "--no-live"], {
    env,
    stdio: ["ignore", "pipe", "ignore"],
  });
  let said = "";
  let rowMs = Number.NaN;
  child.stdout.setEncoding("utf8").on("data", (part: string) => {
    said += part;
    if (Number.isNaN(rowMs) && said.split("\n").length > 2) rowMs = performance.now() - startedAt;
  });
  await once(child, "close");
  if (said.trimEnd().split("\n").length !== spokes + 1) throw new Error(`Wrong rows:\n${said}`);
  return rowMs;
}

async function wholeFleet({
  kubectl,
  env,
  providerFile,
}: Bench): Promise<Omit<CliResult, "helpCpuMs" | "firstRowMs">> {
  const args = ["-A", "-o", "json", "--clusterprofile-provider-file", providerFile];
  const timeout = `--spoke-timeout=${spokeTimeoutMs}ms`;
  // kubectl becomes the plugin: the process stays the same.
  const status = await runMeasured(kubectl, ["knfleet", "status", ...args, timeout], env);
  const { items } = JSON.parse(status.output);
  const inState = (...states: readonly string[]): number =>
    items.filter((item: { live: { state: string } }) => states.includes(item.live.state)).length;
  return {
    statusMs: status.elapsedMs,
    residentBytes: status.peakResidentBytes,
    // Nothing is installed there: to say so a spoke has to answer.
    answered: inState("NotInstalled"),
    unanswered: inState("Unreachable"),
  };
}
