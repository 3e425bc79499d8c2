// Servers of its own: a second API server runs beside the first, and the first is started anew with other settings.
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";

import { expect, test } from "vitest";

import { connectHub } from "../../../access/hub/hub.ts";
import type { Clock } from "../../../access/time/clock.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { ClusterGuard } from "../../../controller/guard/cluster-guard.ts";
import { HubUsers } from "../../../controller/guard/policy.ts";
import type { AdminClient } from "../../fleet/admin-client.ts";
import { ensureBinaries } from "../../fleet/binaries.ts";
import { portOf } from "../../fleet/ports.ts";
import { useSpokes } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { QuickClock } from "../../support/quick-clock.ts";
import { silentLog } from "../../support/silent-log.ts";
import { eventing, userAgent } from "../hand-made-installation.ts";

const fleet = useSpokes([{ kwok: false }]);
const { signal } = new AbortController();

/** Gives new connections to the servers in turn, as a load balancer does. */
async function startBalancer(ports: readonly number[]) {
  const sockets = new Set<Socket>();
  let turn = 0;
  const server = createServer((client) => {
    const upstream = connect(ports[turn % ports.length] ?? 0, "127.0.0.1");
    turn += 1;
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => sockets.delete(one));
      one.pipe(other);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `https://127.0.0.1:${portOf(server.address())}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** Asks one server again and again for an anchor of nobody; says what it answered, and when it last let one be made. */
function askAgainAndAgain(admin: AdminClient, hubId: string) {
  const over = new AbortController();
  const seen = { asked: 0, letAt: -Infinity };
  const annotations = {
    "operator.knative.dev/protected": "true",
    "operator.knative.dev/hub-id": hubId,
  };
  const path = "/api/v1/namespaces/default/configmaps?dryRun=All";
  const asking = (async () => {
    while (!over.signal.aborted) {
      const body = {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "tried", annotations },
      };
      const isMade = await admin.request("POST", path, body).then(
        () => true,
        () => false,
      );
      seen.asked += 1;
      if (isMade) seen.letAt = performance.now();
      await new Promise((wake) => setTimeout(wake, 10));
    }
  })();
  const stop = async (): Promise<void> => {
    over.abort();
    await asking;
  };
  return { seen, stop };
}

/** A guard over a connection of its own to one address of the spoke. `clock` is that of the guard. */
async function guardAt(
  server: string,
  hubId: string,
  onReason: (reason: string) => void,
  clock: Clock = systemClock,
) {
  const spoke = fleet().spoke(0);
  const { token } = await spoke.serviceAccountToken({
    namespace: "knfleet",
    name: hubId,
    clusterRoles: ["knfleet-spoke"],
  });
  const access = { identity: { token }, server };
  const kubeconfig = await spoke.writeKubeconfig(`${hubId}.kubeconfig`, access);
  const hub = await connectHub({ clock: systemClock, kubeconfig, environment: {}, userAgent });
  const end = new AbortController();
  const guard: ClusterGuard = new ClusterGuard(
    { client: hub.client, fieldManager: "knfleet-guard", signal: end.signal },
    {
      clock,
      log: silentLog,
      hubId,
      users: new HubUsers(),
      protection: "Policy",
      crds: false,
      onChange: () => onReason(guard.protection.reason),
      onWithdrawn: () => undefined,
    },
  );
  return {
    guard,
    async [Symbol.asyncDispose]() {
      end.abort();
      await hub[Symbol.asyncDispose]();
    },
  };
}

test.each(["both at work", "one of them frozen when the policies come"])(
  "11.10: of two API servers on one etcd both refuse before an anchor is said to be protected, %s",
  async (how) => {
    const spoke = fleet().spoke(0);
    await using beside = await spoke.startBeside();
    const first = Number(new URL(spoke.server).port);
    await using balancer = await startBalancer([first, beside.port]);
    const hubId = `two-servers-${how.length}`;
    let enforcedAt: number | undefined;
    await using opened = await guardAt(balancer.url, hubId, (reason) => {
      if (reason === "Enforced") enforcedAt ??= performance.now();
    });
    const { guard } = opened;
    const asked = [spoke.admin, beside.admin].map((admin) => askAgainAndAgain(admin, hubId));
    await waitFor("both servers to answer", () => asked.every(({ seen }) => seen.asked > 0), {
      timeoutMs: 60_000,
    });
    guard.protect({
      component: eventing("default"),
      anchor: { namespace: "default", name: "anchor" },
    });
    if (how !== "both at work") {
      beside.pause();
      setTimeout(() => beside.resume(), 5_000);
    }
    const provenAt = await waitFor("the guard to be proven", () => enforcedAt, {
      timeoutMs: 120_000,
    });
    await new Promise((wake) => setTimeout(wake, 500));
    await Promise.all(asked.map(({ stop }) => stop()));
    for (const { asked: times, letAt } of asked.map(({ seen }) => seen)) {
      expect(times).toBeGreaterThan(10);
      // Both let it be made at first, and neither any more when it was said that they refuse.
      expect(letAt).toBeGreaterThan(0);
      expect(letAt).toBeLessThan(provenAt);
    }
    await guard.retire(eventing("default"), signal);
  },
);

// More than 15 s: the API server is started anew twice. Of the guard's time half a minute passes before the proof is repeated, and half a minute again while nobody answers.
test("a guard whose API server is started anew without policies is told of soon, and so is its return", async () => {
  const spoke = fleet().spoke(0);
  const said: string[] = [];
  await using clock = new QuickClock(5);
  const onReason = (reason: string) => said.push(reason);
  await using opened = await guardAt(spoke.server, "no-policies", onReason, clock);
  const { guard } = opened;
  guard.protect({
    component: eventing("default"),
    anchor: { namespace: "default", name: "anchor" },
  });
  const patient = { timeoutMs: 150_000 };
  const says = (reason: string) => () => guard.protection.reason === reason;
  await waitFor("the guard to be proven", says("Enforced"), patient);
  const server = (await ensureBinaries(["kube-apiserver"]))("kube-apiserver");
  const program = join(spoke.folder, "without-policies");
  const off = "--disable-admission-plugins=ValidatingAdmissionPolicy";
  await writeFile(program, `#!/bin/sh\nexec ${server} "$@" ${off}\n`, { mode: 0o755 });
  await spoke.stop();
  await spoke.start(program);
  await waitFor("that to be told", says("NotEnforced"), patient);
  await spoke.stop();
  await spoke.start();
  await waitFor("the guard to be proven again", says("Enforced"), patient);
  expect(said.filter((reason) => reason === "Enforced")).toHaveLength(2);
  await guard.retire(eventing("default"), signal);
}, 400_000);
