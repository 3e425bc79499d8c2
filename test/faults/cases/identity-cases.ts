import { chmod, readdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { condition } from "../../e2e/installation.ts";
import type { Cluster, Fleet } from "../../fleet/fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import type { FaultBench } from "../fault-bench.ts";
import { failure } from "../fault.ts";
import type { FaultCase, Trial } from "../trial.ts";

interface PluginMode {
  readonly does: string;
  readonly script: string;
  readonly isQuick: boolean;
}

const expired = '"expirationTimestamp":"2001-01-01T00:00:00Z"';
const modes: readonly PluginMode[] = [
  { does: "ends with 1", script: "echo broken >&2; exit 1", isQuick: false },
  { does: "says something that is no credential", script: "echo hello", isQuick: false },
  {
    does: "gives a credential that has run out",
    script: credential("old", expired),
    isQuick: false,
  },
  { does: "gives the credential of another cluster", script: credential("$OTHER"), isQuick: false },
  {
    does: "floods its output",
    script: "while :; do echo xxxxxxxxxxxxxxxxxxxx; done",
    isQuick: false,
  },
  { does: "hangs with a grandchild", script: "sleep 300 & sleep 300", isQuick: false },
];

/** What happens to credentials, plugins and the files and profiles that lead to them. */
export const identityCases: readonly FaultCase[] = [
  {
    id: "C15",
    fault: "the token is refused in the middle of an install, and replaced 3 s later",
    isQuick: false,
    async harm(trial) {
      const { proxy, profile, spoke } = trial.target;
      const { hub } = trial.bench;
      const since = new Date();
      const old = await currentToken(trial);
      let writes = 0;
      using _ = proxy.inject(({ headers, isWrite }) => {
        if (isWrite) writes += 1;
        return writes >= 20 && headers.authorization === `Bearer ${old}`
          ? failure(401, "Unauthorized", "Unauthorized")
          : undefined;
      });
      await trial.create();
      await waitFor("the first refusal", () => writes >= 20);
      const refusedAt = performance.now();
      await delay(3_000);
      await profile.renew();
      await trial.ready();
      const seconds = (performance.now() - refusedAt) / 1_000;
      const runs = await pluginRuns(hub, profile.secret.name, since);
      trial.note(`${runs} plugin runs in ${seconds.toFixed(0)} s on ${spoke.name}`);
      if (runs > 3 + seconds / 5) throw new Error(`${runs} plugin runs in ${seconds.toFixed(1)} s`);
    },
  },
  ...modes.map(({ does, script, isQuick }): FaultCase => ({
    id: "C16",
    fault: `the plugin ${does}, then works`,
    isQuick,
    controller: async (bench) => ({ providerFile: await stubFile(bench, script) }),
    async harm(trial) {
      const { fleet, hub } = trial.bench;
      await trial.create();
      const wanted = { status: "False", reason: "AccessProviderFailed" };
      await condition(hub, "KnativeServing", ["TargetClusterResolved", wanted, 90_000]);
      await writeStub(fleet, credential(await currentToken(trial)));
    },
  })),
  {
    id: "C24",
    fault: "the provider file is half-written, then nonsense, then swapped by a link",
    isQuick: false,
    controller: async (bench) => ({ providerFile: await copiedFile(bench) }),
    async harm(trial) {
      const file = join(trial.bench.fleet.folder, "copied-provider-file.json");
      const text = await readFile(file, "utf8");
      await trial.installed();
      for (const wrong of [text.slice(0, text.length / 2), "nonsense"]) {
        await writeFile(file, wrong);
        await validity(trial, 0);
        await trial.deleteDeployment();
        await trial.ready();
      }
      await writeFile(`${file}.next`, text, { mode: 0o600 });
      await symlink(`${file}.next`, `${file}.link`);
      await rename(`${file}.link`, file);
      await validity(trial, 1);
    },
  },
  {
    id: "C25",
    fault: "the profile becomes unready and ready 100 times, and is deleted and made again",
    isQuick: false,
    async harm(trial) {
      const { profile, spoke } = trial.target;
      const { log, fleet } = trial.bench;
      await trial.installed();
      await delay(2_000);
      const before = await descriptors(trial.controller.pid);
      log.restart();
      for (let turn = 0; turn < 100; turn += 1) await profile.update({ healthy: turn % 2 === 1 });
      await profile.remove();
      await delay(1_000);
      const { proxy } = trial.target;
      await fleet.addProfile(spoke, {
        plugin: profile.plugin,
        via: proxy.url,
        cluster: {
          "certificate-authority-data": Buffer.from(proxy.caPem, "utf8").toString("base64"),
        },
      });
      await trial.ready();
      const deletes = log.writes.filter(({ method }) => method === "DELETE");
      if (deletes.length > 0) throw new Error(`${deletes.length} deletions`);
      const after = await waitFor(
        `${before} open files and sockets again`,
        async () => {
          const now = await descriptors(trial.controller.pid);
          return Math.abs(now - before) <= 2 && now;
        },
        { timeoutMs: 90_000 },
      );
      trial.note(`${before} open files and sockets before, ${after} after`);
    },
  },
];

function credential(token: string, more = ""): string {
  const status = `"token":"${token}"${more === "" ? "" : `,${more}`}`;
  const kind = '"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1"';
  return `printf '%s' '{${kind},"status":{${status}}}'`;
}

async function currentToken({ target, bench }: Trial): Promise<string> {
  const secret = await bench.hub.admin.get({
    apiVersion: "v1",
    kind: "Secret",
    ...target.profile.secret,
  });
  const data = secret?.["data"];
  const token: unknown =
    typeof data === "object" && data !== null ? Reflect.get(data, "token") : undefined;
  return Buffer.from(String(token), "base64").toString("utf8");
}

async function pluginRuns(hub: Cluster, secret: string, since: Date): Promise<number> {
  const user = "exec-plugins";
  const reads = await hub.auditLog.requests({ user, resource: "secrets", name: secret, since });
  return reads.length;
}

function stubPath({ folder }: Fleet): string {
  return join(folder, "stub-plugin");
}

async function writeStub(fleet: Fleet, script: string): Promise<void> {
  const next = `${stubPath(fleet)}.next`;
  await writeFile(next, `#!/bin/sh\n${script}\n`);
  await chmod(next, 0o755);
  // Never half a script under the name that is run.
  await rename(next, stubPath(fleet));
}

/** A provider file whose `secretreader` is a script of this bench. */
async function stubFile({ fleet, eventing }: FaultBench, script: string): Promise<string> {
  const { token } = eventing.profile;
  await writeStub(fleet, script.replace("$OTHER", token));
  const execConfig = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: stubPath(fleet),
    provideClusterInfo: true,
    interactiveMode: "Never",
  };
  const file = join(fleet.folder, "stub-provider-file.json");
  await writeFile(file, JSON.stringify({ providers: [{ name: "secretreader", execConfig }] }));
  return file;
}

async function copiedFile({ fleet, controller }: FaultBench): Promise<string> {
  const file = join(fleet.folder, "copied-provider-file.json");
  await writeFile(file, await readFile(controller.providerFile ?? "", "utf8"), { mode: 0o600 });
  return file;
}

async function validity({ controller }: Trial, value: 0 | 1): Promise<void> {
  await waitFor(`knfleet_provider_file_valid ${value}`, async () =>
    new RegExp(`^knfleet_provider_file_valid ${value}$`, "m").test(await controller.metrics()),
  );
}

async function descriptors(pid: number): Promise<number> {
  return (await readdir(`/proc/${pid}/fd`)).length;
}
