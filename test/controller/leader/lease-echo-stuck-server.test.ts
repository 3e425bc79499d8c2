import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, test } from "vitest";

import { connectHub, type HubConnection } from "../../../access/hub/hub.ts";
import { Reflector } from "../../../access/kube/reflector.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { knownResource } from "../../../api/resources.ts";
import { LeaseEcho } from "../../../controller/leader/lease-echo.ts";
import type { StubAnswer, StubRequest } from "../../access/api-stub.ts";
import { authority, failureOf, stub, untilTheEnd } from "../../access/loopback.ts";
import { rethrow } from "../../support/rethrow.ts";
import { silentLog } from "../../support/silent-log.ts";

const signal = AbortSignal.timeout(600_000);
const patience = { timeout: 20_000, interval: 20 };
const configMaps = { resource: knownResource("v1", "ConfigMap") };
const ref = { resource: knownResource("coordination.k8s.io/v1", "Lease"), namespace: "a" };

function eventOf(type: string, name: string, version: string): string {
  const metadata = { name, namespace: "a", uid: name, resourceVersion: version };
  return `${JSON.stringify({ type, object: { metadata } })}\n`;
}

/** A server that goes on with bookmarks and PINGs, but does not answer any more; whoever connects once more has another one. */
function stuckAtFirst({ connection, path }: StubRequest): StubAnswer {
  const isWatch = path.includes("watch=true");
  if (connection === 1) {
    return isWatch ? { body: eventOf("BOOKMARK", "", "2"), everyMs: 20 } : { hang: true };
  }
  const kind = path.includes("/leases") ? "lease" : "new";
  return isWatch ? { body: eventOf("ADDED", kind, "3"), open: true } : {};
}

async function connectTo(server: string): Promise<HubConnection> {
  const folder = await mkdtemp(join(tmpdir(), "knfleet-stuck-"));
  untilTheEnd({ [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) });
  const kubeconfig = join(folder, "kubeconfig.yaml");
  const ca = Buffer.from(authority.certificatePem).toString("base64");
  const config = {
    "current-context": "hub",
    clusters: [{ name: "hub", cluster: { server, "certificate-authority-data": ca } }],
    users: [{ name: "me", user: { token: "T1" } }],
    contexts: [{ name: "hub", context: { cluster: "hub", user: "me" } }],
  };
  await writeFile(kubeconfig, JSON.stringify(config));
  return untilTheEnd(
    await connectHub({ clock: systemClock, kubeconfig, environment: {}, userAgent: "test" }),
  );
}

test("a leader whose server of the hub hangs, but not its connection, sees and writes over a new one", async () => {
  const api = await stub(undefined, { answer: stuckAtFirst });
  const hub = await connectTo(api.server);
  const seen: string[] = [];
  const onChange = ({ metadata }: { readonly metadata: { readonly name: string } }): void =>
    void seen.push(metadata.name);
  using _watch = new Reflector(
    { clock: systemClock, client: hub.client, ref: configMaps, after: "1" },
    { onChange, onDelete: () => undefined, onBug: rethrow },
    signal,
  );
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "b", namespace: "a" } };
  const creating = hub.client.create({ ...configMaps, namespace: "a" }, object, {}, signal);
  const writing = failureOf(creating);
  const echo = new LeaseEcho({ clock: systemClock, connection: hub, ref, log: silentLog }, signal);
  await expect.poll(() => api.requests.length, patience).toBe(3);
  for (let renewals = 0; renewals < 6; renewals += 1) echo.noteRenewal();
  expect(await writing).toBe("closed");
  await hub.client.request("GET", "/version", undefined, signal);
  await expect.poll(() => seen, patience).toEqual(["new"]);
  expect(api.connections).toBe(2);
});
