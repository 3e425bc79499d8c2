// Servers of its own: API servers of spokes are frozen and killed.
import { expect, test } from "vitest";

import { startFaultProxy } from "../faults/fault-proxy.ts";
import { WriteLog } from "../faults/write-log.ts";
import { conditionOf } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { condition, create, gone, installed, read, ready, remove } from "./installation.ts";
import { useScene } from "./scene.ts";

// The loss of a spoke that says nothing takes up to 30 s of the controller's time.
const scene = useScene({ spokes: 2 }, { flags: ["--log-level=debug"], clockFactor: 4 });

test("D-04, D-23: a frozen spoke does not hold the others, is reported, and recovers", async () => {
  const { hub, fleet, profiles } = scene();
  await create(hub, { kind: "KnativeServing", on: profiles[0] });
  await ready(hub, "KnativeServing");
  fleet.spoke(0).pause();
  const frozenAt = performance.now();
  try {
    await create(hub, { kind: "KnativeEventing", on: profiles[1] });
    await ready(hub, "KnativeEventing");
    // Nothing is sent to it: only the silence tells.
    const lost = await condition(hub, "KnativeServing", [
      "Ready",
      { status: "Unknown", reason: "SpokeUnreachable", message: /^\[Unreachable\]/ },
    ]);
    console.error(`Reported after ${Math.round(performance.now() - frozenAt)} ms`);
    expect(conditionOf(lost, "TargetClusterResolved")?.status).toBe("Unknown");
    expect(conditionOf(lost, "DeploymentsAvailable")?.status).toBe("Unknown");
    expect(conditionOf(lost, "InstallSucceeded")?.status).toBe("True");
    expect(conditionOf(await read(hub, "KnativeEventing"), "Ready")?.status).toBe("True");
  } finally {
    fleet.spoke(0).resume();
  }
  await ready(hub, "KnativeServing");
});

// More than 15 s: a spoke is lost and found again twice, and an API server and a controller start anew.
test("a spoke that falls into a black hole, or whose API server is killed, is lost and comes back by itself", async () => {
  const { hub, fleet } = scene();
  const spoke = fleet.spoke(0);
  const lost = { status: "Unknown", reason: "SpokeUnreachable" };
  await spoke.proxy.setMode("blackhole");
  try {
    await condition(hub, "KnativeServing", ["Ready", lost]);
  } finally {
    await spoke.proxy.setMode("open");
  }
  await ready(hub, "KnativeServing");
  await spoke.stop("SIGKILL");
  try {
    const component = await condition(hub, "KnativeServing", ["Ready", lost]);
    // A controller that starts now does not know the spoke, but the status does.
    await scene().controller.kill();
    scene().controller = await scene().startController();
    const again = { msg: "Reconcile failed again", reason: "SpokeUnreachable" };
    await scene().controller.logged(again);
    const now = await read(hub, "KnativeServing");
    expect(now?.metadata.resourceVersion).toBe(component.metadata.resourceVersion);
  } finally {
    await spoke.start();
  }
  await ready(hub, "KnativeServing");
}, 600_000);

test("a component that is created while its spoke is frozen says so, and is installed afterwards", async () => {
  const { hub, fleet, profiles } = scene();
  await remove(hub, "KnativeEventing");
  await gone(hub, "KnativeEventing");
  fleet.spoke(1).pause();
  try {
    await create(hub, { kind: "KnativeEventing", on: profiles[1] });
    await condition(hub, "KnativeEventing", [
      "TargetClusterResolved",
      { status: "Unknown", reason: "SpokeUnreachable" },
    ]);
  } finally {
    fleet.spoke(1).resume();
  }
  const component = await ready(hub, "KnativeEventing");
  expect((await installed(fleet.spoke(1), component.metadata.uid)).length).toBeGreaterThan(100);
});

test("a spoke whose API server hangs behind a load balancer that answers for it is lost, and followed again afterwards", async () => {
  const { hub, fleet, profiles } = scene();
  const spoke = fleet.spoke(1);
  const { name: cluster, server, caPem } = spoke;
  await using balancer = await startFaultProxy({ cluster, server, caPem, log: new WriteLog() });
  await profiles[1]?.update({
    via: balancer.url,
    cluster: { "certificate-authority-data": Buffer.from(balancer.caPem).toString("base64") },
  });
  await waitFor("the new way to be watched on", async () =>
    balancer.requests.some(({ isWatch, path }) => isWatch && path.includes("deployments")),
  );
  const component = await ready(hub, "KnativeEventing");
  spoke.pause();
  try {
    const lost = { status: "Unknown", reason: "SpokeUnreachable" };
    await condition(hub, "KnativeEventing", ["Ready", lost, 120_000]);
  } finally {
    spoke.resume();
  }
  await ready(hub, "KnativeEventing", 120_000);
  const key = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    namespace: component.metadata.namespace ?? "",
    name: "eventing-controller",
  };
  const before = await spoke.admin.get(key);
  await spoke.admin.remove(key);
  const back = await waitFor(
    "the Deployment to be back",
    async () => {
      const found = await spoke.admin.get(key);
      return found?.metadata.uid !== before?.metadata.uid && found;
    },
    { timeoutMs: 120_000 },
  );
  expect(back.metadata.name).toBe(key.name);
}, 600_000);
