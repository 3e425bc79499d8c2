import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { operatorApiVersion } from "../../../../../api/component.ts";
import type { KubeObject } from "../../../../../api/kubernetes.ts";
import { leaderLease } from "../../../../../api/shards.ts";
import { runCli } from "../../../../../cmd/kubectl/cli.ts";
import type { DiagnosisReport } from "../../../../../cmd/kubectl/findings/diagnosis.ts";
import { writeThinRelease } from "../../../../e2e/thin-release.ts";
import type { Fleet, Profile, ProfileOptions } from "../../../../fleet/fleet.ts";
import { conditionOf } from "../../../../fleet/json-record.ts";
import { waitFor } from "../../../../fleet/wait-for.ts";
import { startControllerProcess } from "../../../../support/controller-process.ts";

/** What one `diagnose` said. */
export interface Said {
  readonly exitCode: number;
  readonly report: DiagnosisReport;
  readonly stdout: string;
  readonly stderr: string;
}

export interface SayOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** How much later than now it is for the command. */
  readonly laterMs?: number;
}

/** A fleet with installations of a real controller, which has ended; its Lease says that it works still. */
export interface World {
  readonly fleet: Fleet;
  readonly kubeconfig: string;
  readonly providerFile: string;
  /** Installations by name; each is Eventing in a namespace of that name, on a ClusterProfile `fleet/NAME`. */
  readonly installed: ReadonlyMap<string, Profile>;
  diagnose(args: readonly string[], options?: SayOptions): Promise<Said>;
  /** As a person would see it. */
  text(args: readonly string[], options?: SayOptions): Promise<Said>;
  profile(name: string, options?: Partial<ProfileOptions>): Promise<Profile>;
  /** Writes a provider file with one provider and returns its path. */
  providers(name: string, provider: Readonly<Record<string, unknown>>): Promise<string>;
  /** Writes an executable shell script and returns its path. */
  script(name: string, text: string): Promise<string>;
}

/** Installs Eventing under each name, by a controller that is ended then. */
export async function worldOf(fleet: Fleet, names: readonly string[]): Promise<World> {
  const { hub } = fleet;
  const [spoke] = fleet.spokes;
  if (spoke === undefined) throw new Error("The fleet has a spoke");
  const profile: World["profile"] = (name, options = {}) =>
    fleet.addProfile(spoke, { plugin: "secretreader", name, ...options });
  const providerFile = await fleet.providerFile();
  const kubeconfig = await hub.writeKubeconfig("person.kubeconfig", {
    identity: hub.adminIdentity,
    namespace: "fleet-credentials",
  });
  const installed = new Map<string, Profile>();
  for (const name of names) {
    installed.set(name, await profile(name));
    await writeComponent(fleet, name, { clusterProfileRef: { namespace: "fleet", name } });
  }
  await install(fleet, names, providerFile);
  const say = async (args: readonly string[], options: SayOptions = {}): Promise<Said> => {
    const usual = ["--clusterprofile-provider-file", providerFile];
    const file = args.some((arg) => arg.startsWith("--clusterprofile-provider-file")) ? [] : usual;
    const env = {
      PATH: process.env["PATH"] ?? "",
      HOME: fleet.folder,
      KUBECONFIG: kubeconfig,
      ...options.env,
    };
    const all = ["diagnose", ...args, ...(options.env?.["NO_FILE"] === undefined ? file : [])];
    const { laterMs = 0 } = options;
    let stdout = "";
    let stderr = "";
    const exitCode = await runCli(
      {
        args: all,
        env,
        stdout: { write: (text) => (stdout += text) },
        stderr: { write: (text) => (stderr += text) },
        now: () => new Date(Date.now() + laterMs),
      },
      AbortSignal.timeout(60_000),
    );
    return { exitCode, stdout, stderr, report: reportOf(stdout) };
  };
  return {
    fleet,
    kubeconfig,
    providerFile,
    installed,
    profile,
    diagnose: (args, options) =>
      // Long on a busy machine; what is to run into its time says a shorter one behind.
      say(["--spoke-timeout", "20s", "--exec-timeout", "20s", ...args, "-o", "json"], options),
    text: say,
    providers: async (name, provider) => {
      const path = join(fleet.folder, `${name}.json`);
      await writeFile(path, JSON.stringify({ providers: [provider] }));
      return path;
    },
    script: async (name, text) => {
      const path = join(fleet.folder, name);
      await writeFile(path, `#!/bin/sh\n${text}\n`);
      await chmod(path, 0o755);
      return path;
    },
  };
}

const nothing: DiagnosisReport = {
  apiVersion: "knfleet.dev/v1",
  kind: "Diagnosis",
  generatedAt: "",
  cliVersion: "",
  complete: false,
  summary: { total: 0, healthy: 0, warnings: 0, errors: 0, causes: [] },
  items: [],
  errors: [],
};

function reportOf(stdout: string): DiagnosisReport {
  const report: DiagnosisReport = stdout.startsWith("{") ? JSON.parse(stdout) : nothing;
  return report;
}

/** Writes a component Eventing `NAME/NAME`. */
export async function writeComponent(
  { hub }: Fleet,
  name: string,
  spec: Readonly<Record<string, unknown>>,
): Promise<KubeObject> {
  await hub.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  return hub.admin.apply({
    apiVersion: operatorApiVersion,
    kind: "KnativeEventing",
    metadata: { namespace: name, name },
    spec,
  });
}

/** The status of a component as a controller would leave it. */
export async function writeStatus(
  { hub }: Fleet,
  name: string,
  conditions: readonly object[],
): Promise<void> {
  const key = { apiVersion: operatorApiVersion, kind: "KnativeEventing", namespace: name, name };
  const stored = await hub.admin.get(key);
  const stamped = conditions.map((one) => ({ lastTransitionTime: "2026-01-01T00:00:00Z", ...one }));
  const status = { observedGeneration: stored?.metadata.generation, conditions: stamped };
  const { apiVersion, kind } = key;
  await hub.admin.apply(
    { apiVersion, kind, metadata: { namespace: name, name }, status },
    { subresource: "status" },
  );
}

async function install(
  fleet: Fleet,
  names: readonly string[],
  providerFile: string,
): Promise<void> {
  const { hub } = fleet;
  await using _controller = await startControllerProcess({
    kubeconfig: await fleet.controllerKubeconfig(),
    providerFile,
    releaseDir: await writeThinRelease(fleet.folder, 2, undefined, { hasStatefulSet: true }),
    // All of them are on one spoke, by profiles of several names.
    flags: ["--spoke-namespace=Component"],
    readyTimeoutMs: 60_000,
  });
  for (const name of names) {
    const key = { apiVersion: operatorApiVersion, kind: "KnativeEventing", namespace: name, name };
    await waitFor(
      `${name} to be ready and guarded`,
      async () => {
        const component = await hub.admin.get(key);
        const isTrue = (type: string) => conditionOf(component, type)?.status === "True";
        return isTrue("Ready") && isTrue("AnchorProtected");
      },
      { timeoutMs: 120_000 },
    );
  }
}

/** Writes the Lease of a controller that renewed it now and holds it so long. */
export async function holdLease(
  { hub }: Fleet,
  seconds: number,
  {
    name = leaderLease,
    holder = "someone",
  }: { readonly name?: string; readonly holder?: string } = {},
): Promise<void> {
  await hub.admin.apply({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "knfleet-system" },
  });
  await hub.admin.apply({
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { namespace: "knfleet-system", name },
    spec: {
      holderIdentity: holder,
      leaseDurationSeconds: seconds,
      renewTime: new Date().toISOString().replace("Z", "000Z"),
    },
  });
}

/** A provider that runs a command, with the name that the profiles of this test offer. */
export function providerOf(
  command: string,
  more: Readonly<Record<string, unknown>> = {},
  exec: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  return {
    name: "secretreader",
    execConfig: {
      apiVersion: "client.authentication.k8s.io/v1",
      command,
      provideClusterInfo: true,
      interactiveMode: "Never",
      ...exec,
    },
    ...more,
  };
}

/** The provider of the fleet's file, to be varied. */
export async function realProvider(path: string): Promise<{
  readonly name: string;
  readonly execConfig: Readonly<Record<string, unknown>>;
}> {
  const file: { providers: { name: string; execConfig: Record<string, unknown> }[] } = JSON.parse(
    await readFile(path, "utf8"),
  );
  const [first] = file.providers;
  if (first === undefined) throw new Error("The file has providers");
  return first;
}
