import { setTimeout as delay } from "node:timers/promises";

import { keyOf } from "../../../api/kubernetes.ts";
import { ensureBinaries } from "../../fleet/binaries.ts";
import { olderServers } from "../../fleet/binary-catalogue.ts";
import { forgetVersions } from "../../fleet/forget-versions.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { conflict, everyNth, failure, isWrite, tooManyRequests, type Rule } from "../fault.ts";
import { goneOnce, oldServer } from "../rules.ts";
import type { FaultCase, Trial } from "../trial.ts";
import { otherServed } from "./other-spoke.ts";

const bootstrapRoles = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  labelSelector: "kubernetes.io/bootstrapping=rbac-defaults",
};

/** What the spoke's API server answers. */
export const answerCases: readonly FaultCase[] = [
  {
    id: "C11",
    fault: "429 with Retry-After: 2 for every third write at first sight",
    isQuick: false,
    harm: (trial) => busy(trial, 2),
  },
  {
    id: "C11",
    fault: "429 with Retry-After: 20 for every third write at first sight",
    isQuick: false,
    harm: (trial) => busy(trial, 20),
  },
  {
    id: "C11",
    fault: "429 with Retry-After: 1 for every write; the other spoke is served",
    isQuick: false,
    async harm(trial) {
      const { proxy } = trial.target;
      using undo = new DisposableStack();
      await otherServed(trial, () => {
        undo.use(proxy.inject((request) => (isWrite(request) ? tooManyRequests(1) : undefined)));
        return trial.create();
      });
    },
  },
  {
    id: "C12",
    fault: "409 for every second write to hub and spoke, during an install and a repair",
    isQuick: false,
    async harm(trial) {
      const { hubProxy } = trial.bench;
      const { proxy, spoke } = trial.target;
      using _spoke = proxy.inject(everyNth(2, conflict(), isWrite));
      using _hub = hubProxy.inject(everyNth(2, conflict(), isWrite));
      await trial.installed();
      // A foreign field on an object that is put right under conflicts stays.
      const foreign = { metadata: { labels: { "example.org/foreign": "stays" } } };
      const key = { apiVersion: "apps/v1", kind: "Deployment", namespace: "knative-serving" };
      const webhook = { ...key, name: "webhook" };
      const { metadata } = await spoke.admin.patch(webhook, foreign);
      await spoke.admin.patch(webhook, { spec: { revisionHistoryLimit: 3 } });
      await spoke.admin.patch(webhook, {
        metadata: { labels: { "app.kubernetes.io/version": "0" } },
      });
      await waitFor("the repair", async () => {
        const { labels = {} } = (await spoke.admin.get(webhook))?.metadata ?? {};
        return labels["app.kubernetes.io/version"] !== "0";
      });
      const { labels = {}, uid } = (await spoke.admin.get(webhook))?.metadata ?? {};
      if (labels["example.org/foreign"] !== "stays") throw new Error("A foreign label was lost");
      if (uid !== metadata.uid) throw new Error("The Deployment was made anew");
      await spoke.admin.patch(webhook, {
        metadata: { labels: { "example.org/foreign": null } },
        spec: { revisionHistoryLimit: 10 },
      });
    },
  },
  {
    id: "C13",
    fault: "410 for every watch that goes on, and a Deployment is deleted unseen",
    isQuick: false,
    async harm(trial) {
      await trial.installed();
      using _ = trial.target.proxy.inject(goneOnce());
      await listedAnew(trial, { most: 2, unseen: () => trial.deleteDeployment() });
    },
  },
  {
    id: "C13",
    fault: "a spoke forgets all versions while it is away, and a Deployment is deleted unseen",
    isQuick: true,
    async harm(trial) {
      const { spoke } = trial.target;
      await trial.installed();
      const unseen = async (): Promise<void> => {
        await trial.deleteDeployment();
        await forgetVersions(spoke);
        // Its memory goes back further than its store.
        await spoke.stop("SIGKILL");
        await spoke.start();
      };
      // The connection to a spoke that is away for seconds is replaced, and what follows it over the next one lists as well.
      await listedAnew(trial, { most: 3, unseen });
    },
  },
  {
    id: "C13",
    fault:
      "a server without streaming lists: pages of two objects, and 410 for the first `continue`",
    isQuick: false,
    async harm(trial) {
      const { proxy } = trial.target;
      using _old = proxy.inject(oldServer());
      await trial.installed();
      const paged = proxy.requests.filter(({ path }) => path.includes("continue="));
      trial.note(`${paged.length} further pages`);
      if (paged.length === 0) throw new Error("No list was long enough for a second page");
      await trial.deleteDeployment();
      await delay(500);
    },
  },
  {
    id: "C26",
    fault: "the spoke's API server is the older minor version, and becomes the newer in an install",
    isQuick: false,
    async harm(trial) {
      const { spoke } = trial.target;
      const older = olderServers["kube-apiserver"];
      const binary = await ensureBinaries([older], { log: trial.bench.say });
      const roles = await spoke.admin.list(bootstrapRoles);
      await spoke.stop();
      await spoke.start(binary(older));
      try {
        await trial.create();
        await trial.writesToSpoke(30);
      } finally {
        await spoke.stop();
        await spoke.start();
        // The older server gave Kubernetes' own roles rules that the newer one does not take back.
        await waitFor("Kubernetes' own roles", () =>
          Promise.all(
            roles
              .filter((role) => !Object.hasOwn(role, "aggregationRule"))
              .map((role) => spoke.admin.patch(keyOf(role), { rules: role["rules"] })),
          ),
        );
      }
    },
  },
  {
    id: "C26",
    fault: "the spoke comes back as another minor version, without two kinds for 5 s",
    isQuick: false,
    async harm(trial) {
      const { proxy } = trial.target;
      const version = { major: "1", minor: "37", gitVersion: "v1.37.0" };
      using _version = proxy.inject(({ path }) =>
        path === "/version"
          ? { kind: "answer", status: 200, body: JSON.stringify(version) }
          : undefined,
      );
      using _kinds = proxy.inject(({ path }) =>
        /^\/apis\/(?:policy|autoscaling)\//.test(path)
          ? { ...failure(404, "NotFound", "the server could not find the requested resource") }
          : undefined,
      );
      await trial.create();
      await trial.writesToSpoke(30);
      await delay(5_000);
      trial.note("a proxy plays the other version");
    },
  },
];

/** Does something while the spoke cannot be reached, after which its collections have to be listed anew, on the average `most` times at most. */
async function listedAnew(
  trial: Trial,
  { most, unseen }: { readonly most: number; readonly unseen: () => Promise<void> },
): Promise<void> {
  const { proxy } = trial.target;
  proxy.resetCounts();
  await proxy.line.setMode("refuse");
  await unseen();
  await proxy.line.setMode("open");
  const begun = (): typeof proxy.requests =>
    proxy.requests.filter(({ path }) => path.includes("sendInitialEvents=true"));
  // A spoke that was away is asked again after some seconds; then a storm would come at once.
  await waitFor("a watch that was told that it is too old", () => begun().length > 0);
  await delay(3_000);
  const lists = begun();
  const kinds = new Set(lists.map(({ path }) => path.split("?")[0]));
  trial.note(`${lists.length} lists of ${kinds.size} kinds`);
  if (lists.length > kinds.size * most) throw new Error(`${lists.length} lists: a storm`);
}

/** Each write that is refused once is not to come again before its time, and no more often than needed. */
async function busy(trial: Trial, retryAfterS: number): Promise<void> {
  const { proxy } = trial.target;
  const refusedAt = new Map<string, number>();
  const tooEarly: string[] = [];
  let refused = 0;
  let writes = 0;
  const rule: Rule = (request) => {
    // The guard's probes write nothing, and come again and again.
    if (!request.isWrite || request.path.includes("dryRun=")) return undefined;
    writes += 1;
    const id = `${request.method} ${request.path}`;
    const before = refusedAt.get(id);
    if (before !== undefined) {
      if (performance.now() - before < retryAfterS * 1_000 - 20) tooEarly.push(id);
      return undefined;
    }
    refusedAt.set(id, performance.now());
    if (refusedAt.size % 3 !== 0) {
      refusedAt.set(id, -Infinity);
      return undefined;
    }
    refused += 1;
    return tooManyRequests(retryAfterS);
  };
  using _ = proxy.inject(rule);
  await trial.create();
  await trial.ready(180_000);
  const needed = refusedAt.size + refused;
  trial.note(`${refused} refusals, ${writes} attempts where ${needed} are needed`);
  if (tooEarly.length > 0)
    throw new Error(`Came back too early: ${tooEarly.slice(0, 3).join(", ")}`);
  if (writes > needed * 1.1) throw new Error(`${writes} attempts instead of ${needed}`);
}
