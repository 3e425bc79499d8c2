import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { operatorApiVersion } from "../../../api/component.ts";
import type { ObjectKey } from "../../../api/kubernetes.ts";
import { anchorNameOf } from "../../../installation/anchor.ts";
import { componentOf, read } from "../../e2e/installation.ts";
import { type AdminClient, AdminError } from "../../fleet/admin-client.ts";
import { valueAt } from "../../fleet/json-record.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { usageOf } from "../../performance/process-usage.ts";
import type { FaultBench } from "../fault-bench.ts";
import { memoryLimitBytes, type FaultCase, type Trial } from "../trial.ts";

const crowd = "crowd";
const apiVersion = operatorApiVersion;
const skews = [
  { hours: 1, words: "an hour ahead" },
  { hours: -1, words: "an hour behind" },
];

/** What happens to the controller's process, its clock and what it keeps on the spoke. */
export const processCases: readonly FaultCase[] = [
  ...skews.map(({ hours, words }): FaultCase => ({
    id: "C17",
    fault: `the controller's clock is ${words}, with leader election`,
    isQuick: false,
    controller: async (bench) => ({
      leaderElection: true,
      environment: await clock(bench, { hours, afterMs: 0 }),
    }),
    harm: (trial) => trial.create().then(() => undefined),
  })),
  {
    id: "C17",
    fault: "the clock jumps an hour ahead during an install, with leader election",
    isQuick: false,
    controller: async (bench) => ({
      leaderElection: true,
      environment: await clock(bench, { hours: 1, afterMs: 2_500 }),
    }),
    async harm(trial) {
      await trial.create();
      await delay(5_000);
    },
  },
  {
    id: "C17",
    fault: "a second replica whose clock is an hour ahead does not take the Lease",
    isQuick: false,
    controller: () => Promise.resolve({ leaderElection: true }),
    async harm(trial) {
      const { bench } = trial;
      await trial.controller.logged({ msg: "Reconciling" }, 90_000);
      await using second = await trial.replica({
        leaderElection: true,
        environment: await clock(bench, { hours: 1, afterMs: 0 }),
      });
      await second.logged({ msg: "Waiting to become the leader" });
      await trial.create();
      await delay(20_000);
      if (second.logLines({ msg: "Reconciling" }).length > 0) throw new Error("It took the Lease");
    },
  },
  {
    id: "C18",
    fault: "the leader is frozen during an install until another leads, and wakes",
    isQuick: false,
    mayEnd: true,
    controller: () => Promise.resolve({ leaderElection: true }),
    harm: frozenLeader,
  },
  {
    id: "C20",
    fault: "1,000 other components that cannot be installed",
    isQuick: false,
    harm: manyComponents,
  },
  {
    id: "C20",
    fault: "5,000 objects of others beside those of the component, and a restart",
    isQuick: false,
    harm: manyObjects,
  },
  {
    id: "C23",
    fault: "the anchor is deleted in spite of all, and with it everything that it owns",
    isQuick: false,
    isGuarded: true,
    mayLoseJobs: true,
    async harm(trial) {
      const { admin } = trial.target.spoke;
      await trial.installed();
      const name = anchorNameOf({ kind: "KnativeServing", name: "knative-serving" });
      const key = { apiVersion: "v1", kind: "ConfigMap", namespace: "knative-serving", name };
      const { uid } = (await admin.get(key))?.metadata ?? {};
      await waitFor("the anchor to be guarded", () => isRefused(admin, key));
      await waitFor("the anchor to be deleted", () => removeUnguarded(trial, key));
      const deletedAt = performance.now();
      await waitFor(
        "another anchor",
        async () => {
          const found = await admin.get(key);
          return found !== undefined && found.metadata.uid !== uid;
        },
        { timeoutMs: 60_000 },
      );
      trial.figure("another anchor after", performance.now() - deletedAt, 60_000);
      await waitFor("the Event", () => isToldOf(trial, "AnchorLost"));
    },
  },
];

/** What a deletion would come to, which nothing is done by. */
async function isRefused(admin: AdminClient, key: ObjectKey): Promise<boolean> {
  const path = `/api/v1/namespaces/${key.namespace ?? ""}/configmaps/${key.name}?dryRun=All`;
  return admin.request("DELETE", path).then(
    () => false,
    (error: unknown) => error instanceof AdminError,
  );
}

async function isToldOf({ bench: { hub } }: Trial, reason: string): Promise<boolean> {
  const uid = (await read(hub, "KnativeServing"))?.metadata.uid;
  const events = await hub.admin.list({
    apiVersion: "v1",
    kind: "Event",
    namespace: "knative-serving",
  });
  return events.some(
    (event) => event["reason"] === reason && valueAt(event, "involvedObject", "uid") === uid,
  );
}

/** As somebody who may do everything: the guard's bindings first, which the controller makes anew, then the object. */
async function removeUnguarded({ target }: Trial, key: ObjectKey): Promise<boolean> {
  const { admin } = target.spoke;
  const kind = {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicyBinding",
  };
  const bindings = await admin.list(kind);
  await Promise.all(bindings.map(({ metadata: { name } }) => admin.remove({ ...kind, name })));
  return admin.remove(key);
}

/** Two replicas: after the second's first write the first, which wakes, writes nothing more. */
async function frozenLeader(trial: Trial): Promise<void> {
  const { bench } = trial;
  const { log } = bench;
  await trial.controller.logged({ msg: "Reconciling" }, 90_000);
  const first = trial.controller;
  const before = new Set<number>();
  await trial.create();
  await trial.writesToSpoke(20);
  first.signal("SIGSTOP");
  for (const { connection } of log.writes) before.add(connection);
  await using second = await trial.replica({ leaderElection: true });
  await second.logged({ msg: "Reconciling" }, 90_000);
  await trial.ready();
  const seconds = new Set(
    log.writes.map(({ connection }) => connection).filter((one) => !before.has(one)),
  );
  const count = log.writes.length;
  first.signal("SIGCONT");
  const wokenAt = performance.now();
  const { code } = await first.exited;
  trial.figure(`ended with code ${code} after it woke in`, performance.now() - wokenAt, 1_000);
  const strangers = log.writes
    .slice(count)
    .filter(({ connection }) => !seconds.has(connection))
    .map(({ method, path }) => `${method} ${path}`);
  if (strangers.length > 0) throw new Error(`Both wrote: ${strangers.slice(0, 3).join(", ")}`);
}

async function manyComponents(trial: Trial): Promise<void> {
  const { admin } = trial.bench.hub;
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: crowd } });
  const names = Array.from({ length: 1_000 }, (_, index) => `${crowd}-${index}`);
  try {
    await inTurns(names, async (name) => {
      // Each on a cluster of its own, or they would be in each other's way.
      const on = { namespace: "fleet", name };
      const component = componentOf({ kind: "KnativeEventing", on });
      await admin.create({ ...component, metadata: { namespace: crowd, name } });
    });
    await trial.create();
    await trial.ready(300_000);
    await waitFor("all to be reported on", () => areReported(trial), { timeoutMs: 300_000 });
    const { residentBytes, peakResidentBytes } = await usageOf(trial.controller.pid);
    trial.note(`${mebibytes(residentBytes)} resident, ${mebibytes(peakResidentBytes)} at most`);
    if (peakResidentBytes > memoryLimitBytes) throw new Error("More than the limit of the chart");
  } finally {
    await inTurns(names, async (name) => {
      const key = { apiVersion, kind: "KnativeEventing", namespace: crowd, name };
      await admin.remove(key);
      await admin.patch(key, { metadata: { finalizers: null } }).catch(() => undefined);
    });
  }
}

async function manyObjects(trial: Trial): Promise<void> {
  const { admin } = trial.target.spoke;
  const namespace = "knative-serving";
  const configMaps = { apiVersion: "v1", kind: "ConfigMap" };
  const names = Array.from({ length: 5_000 }, (_, index) => `${crowd}-${index}`);
  await trial.installed();
  try {
    await inTurns(names, async (name) => {
      await admin.create({
        ...configMaps,
        metadata: { namespace, name, labels: { crowd: "yes" } },
      });
    });
    await trial.halt();
    await trial.resume();
    // Tells of the time since it was last asked, without the start of the process.
    await trial.controller.metrics();
    await trial.deleteDeployment();
    await trial.ready();
    const { peakResidentBytes } = await usageOf(trial.controller.pid);
    const lag = /^nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(await trial.controller.metrics());
    trial.figure("99 % of the delays of the event loop", Number(lag?.[1]) * 1_000, 50);
    trial.note(`${mebibytes(peakResidentBytes)} at most`);
    if (peakResidentBytes > memoryLimitBytes) throw new Error("More than the limit of the chart");
  } finally {
    const path = `/api/v1/namespaces/${namespace}/configmaps?labelSelector=crowd%3Dyes`;
    await admin.request("DELETE", path);
  }
}

async function areReported({ bench }: Trial): Promise<boolean> {
  const all = await bench.hub.admin.list({ apiVersion, kind: "KnativeEventing", namespace: crowd });
  return all.every((one) => valueAt(one, "status", "conditions") !== undefined);
}

async function inTurns(
  names: readonly string[],
  work: (name: string) => Promise<void>,
): Promise<void> {
  const left = [...names];
  const worker = async (): Promise<void> => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) await work(name);
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 1024 / 1024)} MiB`;
}

/** Environment of a process whose wall clock is wrong, from the start or from some time on. Its monotonic clock is right. */
async function clock(
  { fleet }: FaultBench,
  { hours, afterMs }: { readonly hours: number; readonly afterMs: number },
): Promise<Readonly<Record<string, string>>> {
  const file = join(fleet.folder, `clock-${hours}-${afterMs}.mjs`);
  await writeFile(
    file,
    `const Real = Date;
const start = performance.now();
const now = () => Real.now() + (performance.now() - start >= ${afterMs} ? ${hours * 3_600_000} : 0);
globalThis.Date = class extends Real {
  constructor(...given) {
    if (given.length === 0) super(now());
    else super(...given);
  }
  static now() {
    return now();
  }
};
`,
  );
  return { NODE_OPTIONS: `--import=${file}` };
}
