import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";

import {
  componentKinds,
  type ComponentKind,
  keepWhileUsedAnnotation,
} from "../../api/component.ts";
import * as component from "../e2e/installation.ts";
import { writesTo } from "../e2e/requests.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { canary, mayListUsers } from "./canary-scene.ts";
import { diagnosed } from "./diagnosed.ts";
import type { KnativeWorld } from "./knative-world.ts";

interface Scene {
  readonly name: string;
  readonly run: (world: KnativeWorld) => Promise<void>;
}

const kinds = ["KnativeServing", "KnativeEventing"] as const;
const longMs = 300_000;
const adapterKey = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  namespace: "knative-eventing",
  name: "pingsource-mt-adapter",
};

/** Each begins where the one before it ended. */
export const knativeScenes: readonly Scene[] = [
  { name: "1.22 becomes ready, and its webhooks are filled", run: install },
  { name: "an upgrade to 1.23 becomes ready and keeps what the webhooks filled in", run: upgrade },
  { name: "two quiet minutes have no write of ours", run: quiet },
  { name: "a KnativeService becomes a Deployment", run: service },
  {
    name: "a PingSource scales the adapter, and four changes of its configuration are no contest",
    run: pingSource,
  },
  {
    name: "a wrong value is refused by Knative's webhook, and diagnose says what it said",
    run: wrongValue,
  },
  {
    name: "a change after which Serving's controller says that a Service is not ready is halted at the canary, and nothing else moves",
    run: canary,
  },
  {
    name: "a component that is kept while it is used says so, also with its webhook dead",
    run: kept,
  },
  { name: "everything is removed with the webhooks dead", run: uninstall },
];

async function install({ hub, spoke, profile, startPrograms }: KnativeWorld): Promise<void> {
  for (const kind of kinds) {
    await component.create(hub, { kind, on: profile, spec: { version: "1.22" } });
  }
  await startPrograms();
  for (const kind of kinds) await component.ready(hub, kind, longMs);
  await filled(spoke);
}

async function upgrade({ hub, spoke, startPrograms }: KnativeWorld): Promise<void> {
  const before = await filled(spoke);
  for (const kind of kinds) await component.change(hub, kind, { version: "1.23" });
  await waitFor(
    "the Deployments of 1.23",
    async () => {
      const labels = (await spoke.admin.get(adapterKey))?.metadata.labels;
      return labels?.["app.kubernetes.io/version"] === "1.23.0";
    },
    { timeoutMs: longMs },
  );
  await startPrograms();
  for (const kind of kinds) {
    await waitFor(
      `${kind} 1.23`,
      async () => {
        const stored = await component.read(hub, kind);
        const version = valueAt(stored, "status", "version");
        return version === "1.23.0" && conditionOf(stored, "Ready")?.status === "True";
      },
      { timeoutMs: longMs },
    );
  }
  const after = await filled(spoke);
  for (const [name, bundle] of before) assert.equal(after.get(name), bundle, name);
}

async function quiet({ spoke, say }: KnativeWorld): Promise<void> {
  // What Knative's programs write after their start is answered first.
  await waitFor(
    "ten seconds without a write of ours",
    async () => {
      const since = new Date();
      await delay(10_000);
      return (await writesTo(spoke, since)).length === 0;
    },
    { timeoutMs: longMs },
  );
  const since = new Date();
  say("Two quiet minutes begin");
  await delay(120_000);
  assert.deepEqual(
    (await writesTo(spoke, since)).map(({ verb, uri }) => `${verb} ${uri}`),
    [],
  );
}

async function service({ spoke }: KnativeWorld): Promise<void> {
  // By its digest: nothing asks a registry.
  const image = `gcr.io/knative-samples/helloworld-go@sha256:${"5".repeat(64)}`;
  await spoke.admin.create({
    apiVersion: "serving.knative.dev/v1",
    kind: "Service",
    metadata: { namespace: "default", name: "hello" },
    spec: { template: { spec: { containers: [{ image }] } } },
  });
  const key = { apiVersion: "apps/v1", kind: "Deployment", namespace: "default" };
  const made = await waitFor("the Deployment of the KnativeService", () =>
    spoke.admin.get({ ...key, name: "hello-00001-deployment" }),
  );
  const containers = valueAt(made, "spec", "template", "spec", "containers");
  assert.ok(JSON.stringify(containers).includes(image));
}

async function pingSource({ hub, spoke, say }: KnativeWorld): Promise<void> {
  const since = new Date();
  const source = { apiVersion: "sources.knative.dev/v1", kind: "PingSource" };
  const metadata = { namespace: "default", name: "tick" };
  const spec = { schedule: "*/5 * * * *", sink: { uri: "http://example.invalid" } };
  const before = await generationOf(spoke);
  await spoke.admin.create({ ...source, metadata, spec });
  await waitFor("the adapter to be scaled", async () => {
    return valueAt(await spoke.admin.get(adapterKey), "spec", "replicas") === 1;
  });
  for (const level of ["debug", "info", "warn", "error"]) {
    const logger = {
      level,
      encoding: "json",
      outputPaths: ["stdout"],
      errorOutputPaths: ["stderr"],
    };
    const logging = { "zap-logger-config": JSON.stringify(logger) };
    await component.change(hub, "KnativeEventing", { config: { logging } });
    await waitFor(`the adapter to log ${level}`, async () => {
      // Its controller looks at configurations when it looks at a source.
      const annotations = { asked: new Date().toISOString() };
      await spoke.admin.patch({ ...source, ...metadata }, { metadata: { annotations } });
      const adapter = await spoke.admin.get(adapterKey);
      return new RegExp(`level\\W+${level}`).test(JSON.stringify(adapter?.["spec"]));
    });
  }
  await component.ready(hub, "KnativeEventing", longMs);
  const theirs = await spoke.auditLog.requests({
    since,
    user: "eventing-controller",
    verb: "update",
    resource: "deployments",
    name: adapterKey.name,
  });
  const written = theirs.filter(({ code, subresource }) => code === 200 && subresource === "");
  say(`Eventing's controller wrote the adapter ${written.length} times`);
  assert.equal(written.length, 5);
  // Each of its writes is one generation, so that ours are none.
  assert.equal(await generationOf(spoke), before + written.length);
  const adapter = JSON.stringify((await spoke.admin.get(adapterKey))?.["spec"]);
  assert.ok(!adapter.includes("POD_NAME"));
  const stored = await component.read(hub, "KnativeEventing");
  assert.equal(conditionOf(stored, "Contested"), undefined);
  const events = await hub.admin.list({
    apiVersion: "v1",
    kind: "Event",
    namespace: "knative-eventing",
  });
  const repaired = events.filter((event) => event["reason"] === "Repaired");
  assert.deepEqual(
    repaired.map((event) => event["message"]),
    [],
  );
}

async function wrongValue(world: KnativeWorld): Promise<void> {
  const { hub } = world;
  const network = { "ingress-class": "kourier.ingress.networking.knative.dev" };
  const config = { network, autoscaler: { "stable-window": "nonsense" } };
  await component.change(hub, "KnativeServing", { config });
  const denies = /config\.webhook\.serving\.knative\.dev denies it/;
  const wanted = { status: "False", message: denies };
  await component.condition(hub, "KnativeServing", ["InstallSucceeded", wanted, longMs]);
  const cause = await diagnosed(world, "ks/knative-serving", "knative-serving");
  assert.equal(cause?.code, "KNF6012");
  assert.match(cause.message, /; it says: .*nonsense/);
  const right = { network, autoscaler: { "stable-window": "60s" } };
  await component.change(hub, "KnativeServing", { config: right });
  await component.ready(hub, "KnativeServing", longMs);
}

async function kept({ hub, spoke, stopPrograms }: KnativeWorld): Promise<void> {
  await mayListUsers(spoke);
  const stored = await component.read(hub, "KnativeEventing");
  assert.ok(stored);
  await hub.admin.patch(keyOfKind("KnativeEventing"), {
    metadata: { annotations: { [keepWhileUsedAnnotation]: "true" } },
  });
  await stopPrograms();
  const since = new Date();
  await component.remove(hub, "KnativeEventing");
  // Either is right: the API server shows what it has read before, or cannot convert it any more.
  const message =
    /^(?:Still used by .*1 PingSource \(default\/tick\)|Looking for users before the removal: the cluster cannot list PingSource)/;
  const wanted = { reason: "ClusterBusy", message };
  await component.condition(hub, "KnativeEventing", ["InstallSucceeded", wanted, longMs]);
  const removed = (await writesTo(spoke, since)).filter(({ verb }) => verb.startsWith("delete"));
  assert.deepEqual(
    removed.map(({ uri }) => uri),
    [],
  );
}

async function uninstall({ hub, spoke }: KnativeWorld): Promise<void> {
  await hub.admin.patch(keyOfKind("KnativeEventing"), {
    metadata: { annotations: { [keepWhileUsedAnnotation]: null } },
  });
  await component.remove(hub, "KnativeServing");
  for (const kind of kinds) await component.gone(hub, kind, longMs);
  assert.equal(await spoke.admin.get(adapterKey), undefined);
}

function keyOfKind(kind: ComponentKind) {
  const name = componentKinds[kind].label;
  return { apiVersion: "operator.knative.dev/v1beta1", kind, namespace: name, name };
}

async function generationOf({ admin }: KnativeWorld["spoke"]): Promise<number> {
  return Number(valueAt(await admin.get(adapterKey), "metadata", "generation"));
}

/** What Knative's webhooks filled into their configurations and CRDs, by name, as soon as it is there. */
async function filled({ admin }: KnativeWorld["spoke"]): Promise<ReadonlyMap<string, string>> {
  const bundles = new Map<string, string>();
  await waitFor(
    "the webhooks to be filled",
    async () => {
      bundles.clear();
      for (const kind of ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"]) {
        const apiVersion = "admissionregistration.k8s.io/v1";
        for (const one of await admin.list({ apiVersion, kind })) {
          if (!/^(?!.*inmemorychannel).*knative\.dev$/.test(one.metadata.name)) continue;
          const bundle = valueAt(one, "webhooks", 0, "clientConfig", "caBundle");
          bundles.set(`${kind} ${one.metadata.name}`, typeof bundle === "string" ? bundle : "");
        }
      }
      const name = "pingsources.sources.knative.dev";
      const kind = "CustomResourceDefinition";
      const crd = await admin.get({ apiVersion: "apiextensions.k8s.io/v1", kind, name });
      const bundle = valueAt(crd, "spec", "conversion", "webhook", "clientConfig", "caBundle");
      bundles.set(name, typeof bundle === "string" ? bundle : "");
      return bundles.size > 5 && [...bundles.values()].every((text) => text !== "");
    },
    { timeoutMs: longMs },
  );
  return bundles;
}
