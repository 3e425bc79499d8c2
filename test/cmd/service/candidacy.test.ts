import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { connectHub } from "../../../access/hub/hub.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { knownResource } from "../../../api/resources.ts";
import { standForLease } from "../../../cmd/service/candidacy.ts";
import { type ControllerFlags, readControllerFlags } from "../../../cmd/service/flags.ts";
import { type StubAnswer, type StubRequest } from "../../access/api-stub.ts";
import { authority, stub, untilTheEnd } from "../../access/loopback.ts";
import { writeKubeconfig } from "../../fleet/kubeconfig.ts";
import { silentLog } from "../../support/silent-log.ts";

const leases = "/apis/coordination.k8s.io/v1/namespaces/knfleet-system/leases";
const ownLease = `${leases}/knfleet-controller`;

/** A hub that keeps one Lease, which nobody holds at first, and says nothing to any other request. */
function hubWithLease(): (request: StubRequest) => StubAnswer {
  let version = 1;
  let lease: object = {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { namespace: "knfleet-system", name: "knfleet-controller", uid: "l" },
    spec: { holderIdentity: "", leaseDurationSeconds: 1 },
  };
  return ({ method, path, body }) => {
    const [place] = path.split("?");
    if (path.includes("watch=")) return { hang: true };
    if (place === leases) {
      const metadata = { resourceVersion: String(version) };
      return { body: JSON.stringify({ apiVersion: "v1", kind: "List", metadata, items: [] }) };
    }
    if (place !== ownLease) return { hang: true };
    if (method === "PUT") {
      version += 1;
      lease = JSON.parse(body);
    }
    const metadata = { ...Object(Object(lease)["metadata"]), resourceVersion: String(version) };
    return { body: JSON.stringify({ ...lease, metadata }) };
  };
}

function flagsOf(args: readonly string[]): ControllerFlags {
  const flags = readControllerFlags(args, "0.0.0");
  if (!("shards" in flags)) throw new Error("These flags are refused");
  return flags;
}

test("renewals of the Lease go over a connection of their own, and get through while the one of the work is full and says nothing", async () => {
  const api = await stub(undefined, { answer: hubWithLease() });
  const folder = await mkdtemp(join(tmpdir(), "knfleet-candidacy-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const kubeconfig = await writeKubeconfig(join(folder, "hub.kubeconfig"), {
    name: "hub",
    server: api.server,
    caPem: authority.certificatePem,
    identity: { token: "t-1" },
  });
  const flags = flagsOf([
    `--kubeconfig=${kubeconfig}`,
    "--leader-election-namespace=knfleet-system",
    "--leader-elect-retry-period=50ms",
  ]);
  const hub = { environment: {}, kubeconfig, clock: systemClock, userAgent: "test" };
  const work = untilTheEnd(await connectHub(hub));
  const end = new AbortController();
  onTestFinished(() => end.abort());
  // More than a connection takes at once.
  const resource = knownResource("v1", "ConfigMap");
  const waiting = Array.from({ length: 500 }, (_, at) =>
    work.client.get({ resource, namespace: "a", name: `c-${at}` }, {}, end.signal),
  );
  const ended = Promise.allSettled(waiting);
  await expect.poll(() => api.requests.length).toBeGreaterThan(0);

  const options = { hub, identity: "pod-a", log: silentLog };
  const candidacy = untilTheEnd(await standForLease(flags, options));
  const leadership = untilTheEnd(await candidacy.lead([])({}, end.signal));
  const renewals = () =>
    api.requests.filter(({ method, path }) => method === "PUT" && path.startsWith(ownLease));
  // On a busy machine they take their time, as the deadline of the Lease does.
  await expect.poll(() => renewals().length, { timeout: 60_000 }).toBeGreaterThan(20);
  expect(leadership.mayWrite()).toBe(true);
  const [full] = api.requests.filter(({ path }) => path.includes("/configmaps/"));
  expect(new Set(renewals().map(({ connection }) => connection)).size).toBe(1);
  expect(renewals()[0]?.connection).not.toBe(full?.connection);
  end.abort();
  expect((await ended).every(({ status }) => status === "rejected")).toBe(true);
});
