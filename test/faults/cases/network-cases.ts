import { setTimeout as delay } from "node:timers/promises";

import { condition, read } from "../../e2e/installation.ts";
import type { ProxyMode } from "../../fleet/delay-proxy.ts";
import { conditionOf } from "../../fleet/json-record.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { isWrite, someOf } from "../fault.ts";
import type { FaultCase, Trial } from "../trial.ts";
import { otherServed } from "./other-spoke.ts";

const breaks: readonly { readonly mode: ProxyMode; readonly does: string }[] = [
  { mode: "blackhole", does: "swallows every byte" },
  { mode: "reset", does: "resets every connection" },
  { mode: "refuse", does: "refuses every connection" },
];

const plainNotFound = {
  status: 404,
  headers: { "content-type": "text/plain; charset=utf-8" },
  body: "404 page not found",
};

const healedWithinMs = 60_000;

/** What happens on the way to a spoke. */
export const networkCases: readonly FaultCase[] = [
  {
    id: "C8",
    fault:
      "the spoke's API server is frozen until the controller says so; the other spoke is served",
    isQuick: false,
    async harm(trial) {
      const { bench, target } = trial;
      const { hub, eventing } = bench;
      await trial.installed();
      try {
        await otherServed(trial, () => {
          target.spoke.pause();
          // The proxy would go on answering pings; a frozen server accepts connections and says nothing.
          return target.proxy.line.setMode("blackhole");
        });
        const lost = { status: "Unknown", reason: "SpokeUnreachable" };
        await condition(hub, "KnativeServing", ["Ready", lost]);
      } finally {
        target.spoke.resume();
        await target.proxy.line.setMode("open");
      }
      if (eventing.proxy.openConnections === 0) throw new Error("The other spoke was let go");
    },
  },
  ...breaks.map(({ mode, does }): FaultCase => ({
    id: "C9",
    fault: `the line to the spoke ${does} for 6 s during an install`,
    isQuick: false,
    convergesWithinMs: healedWithinMs,
    async harm(trial) {
      const { line } = trial.target.proxy;
      await trial.create();
      await trial.writesToSpoke(20);
      await line.setMode(mode);
      await delay(6_000);
      await line.setMode("open");
    },
  })),
  {
    id: "C9",
    fault: "the line is cut after the install, and a Deployment is deleted meanwhile",
    isQuick: false,
    convergesWithinMs: healedWithinMs,
    async harm(trial) {
      const { line } = trial.target.proxy;
      await trial.installed();
      await line.setMode("blackhole");
      await trial.deleteDeployment();
      await delay(20_000);
      await line.setMode("open");
    },
  },
  {
    id: "C9",
    fault: "half-open: open connections die without a word, and a Deployment is deleted",
    isQuick: true,
    async harm(trial) {
      await trial.installed();
      trial.target.proxy.line.abandon();
      const diedAt = performance.now();
      await trial.deleteDeployment();
      await deploymentBack(trial);
      trial.figure("the Deployment was back after", performance.now() - diedAt, healedWithinMs);
    },
  },
  {
    id: "C9",
    fault: "the name of the spoke cannot be resolved for a while",
    isQuick: false,
    convergesWithinMs: healedWithinMs,
    async harm(trial) {
      const { hub } = trial.bench;
      const { profile, proxy } = trial.target;
      await trial.installed();
      await profile.update({ via: "https://spoke.invalid:6443" });
      await condition(hub, "KnativeServing", ["TargetClusterResolved", { status: "False" }]);
      await profile.update({ via: proxy.url });
    },
  },
  {
    id: "C9",
    fault: "a load balancer without a way to the spoke's API server answers 404 to everything",
    isQuick: true,
    convergesWithinMs: healedWithinMs,
    harm: replaced,
  },
  {
    id: "C9",
    fault: "the line to the spoke refuses every connection; the other spoke is served",
    isQuick: false,
    convergesWithinMs: healedWithinMs,
    async harm(trial) {
      const { line } = trial.target.proxy;
      try {
        await otherServed(trial, async () => {
          await trial.create();
          await trial.writesToSpoke(20);
          await line.setMode("refuse");
        });
      } finally {
        await line.setMode("open");
      }
    },
  },
  {
    id: "C10",
    fault: "every answer takes 5 s; the other spoke is served",
    isQuick: false,
    async harm(trial) {
      using undo = new DisposableStack();
      await otherServed(trial, () => {
        undo.use(trial.target.proxy.inject(() => ({ kind: "pass", delayMs: 5_000 })));
        return trial.create();
      });
    },
  },
  {
    id: "C10",
    fault: "every answer takes 5 s and 1 % of the requests lose their connection",
    isQuick: false,
    harm: (trial) => slow(trial, 5_000),
  },
  {
    id: "C10",
    fault: "every answer takes 0.4 s and 1 % of the requests lose their connection",
    isQuick: false,
    harm: (trial) => slow(trial, 400),
  },
];

/** Nothing of the installation may be taken for lost, as nothing is. */
async function replaced(trial: Trial): Promise<void> {
  const { bench, target } = trial;
  const { proxy } = target;
  await trial.installed();
  proxy.resetCounts();
  using _ = proxy.inject(() => ({ kind: "answer", ...plainNotFound }));
  proxy.cut();
  const lost = { status: "Unknown", reason: "SpokeUnreachable" };
  await condition(bench.hub, "KnativeServing", ["Ready", lost, 30_000]);
  // Longer than it takes to find out that the spoke is lost.
  await delay(5_000);
  const writes = proxy.requests.filter(isWrite).map(({ method, path }) => `${method} ${path}`);
  if (writes.length > 0) throw new Error(`Sent in spite of that: ${writes.join(", ")}`);
  const installed = conditionOf(await read(bench.hub, "KnativeServing"), "InstallSucceeded");
  if (installed?.status !== "True")
    throw new Error(`Called not installed: ${String(installed?.message)}`);
}

async function slow(trial: Trial, delayMs: number): Promise<void> {
  const { bench, target } = trial;
  const { random } = bench;
  const lose = someOf({ share: 0.01, random }, { kind: "reset", when: "before" });
  using _ = target.proxy.inject((request) => lose(request) ?? { kind: "pass", delayMs });
  await trial.create();
  await trial.ready(240_000);
  trial.note(`at most ${target.proxy.mostInFlight} requests in flight`);
  if (target.proxy.mostInFlight > 64) throw new Error("More than 64 requests in flight");
}

/** Only the controller can bring it back: the harm lasts until it has noticed that its watches are dead. */
async function deploymentBack(trial: Trial): Promise<void> {
  const key = { apiVersion: "apps/v1", kind: "Deployment", namespace: "knative-serving" };
  const { admin } = trial.target.spoke;
  const startedAt = performance.now();
  await waitFor("the Deployment", () => admin.get({ ...key, name: "activator" }), {
    timeoutMs: 180_000,
  });
  trial.note(`back after ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
}
