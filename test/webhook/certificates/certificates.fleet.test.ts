// Servers of its own: the API server calls webhooks through an egress proxy, and shows them a certificate.
import { X509Certificate } from "node:crypto";
import { rm } from "node:fs/promises";
import { Agent } from "node:https";
import { setTimeout as delay } from "node:timers/promises";
import { connect } from "node:tls";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { certificatesAfter } from "../../../webhook/certificates/certificate-plan.ts";
import {
  secretDataOf,
  storedCertificatesOf,
} from "../../../webhook/certificates/certificate-secret.ts";
import type { Cluster } from "../../fleet/cluster.ts";
import { exchange } from "../../fleet/https-exchange.ts";
import { valueAt } from "../../fleet/json-record.ts";
import type { ServiceAccountToken } from "../../fleet/service-accounts.ts";
import { useFleet } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { startBalancer } from "../../performance/webhook-balancer.ts";
import { WebhookProcess } from "../../support/webhook-process.ts";
import {
  askForAnchor,
  configurationKey,
  controllerUser,
  installWebhook,
  keepAskingForAnchors,
  names,
  overwriteBundle,
  trustedOn,
} from "../guarded-hub.ts";
import { sendAs } from "../send-as.ts";
import { reviewOf } from "../serving.ts";
import { knownApiServer } from "./known-api-server.ts";

const known = knownApiServer();
const fleet = useFleet({ hub: { egress: true, apiServerFlags: known.flags }, spokes: 0 });
const secret = { apiVersion: "v1", kind: "Secret", namespace: names.namespace, name: names.secret };
const servername = `${names.name}.${names.namespace}.svc`;
const day = 86_400_000;
// Of the load on two replicas, and how long it may see that one of them died.
const workers = 8;
const calmMs = 2_000;
let hub: Cluster;
let kubeconfig: string;

beforeAll(async () => {
  hub = fleet().hub;
  kubeconfig = await installWebhook(hub);
  const metadata = { name: "guarded" };
  await hub.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata });
});

afterAll(() => rm(known.folder, { recursive: true }));

/** A replica that gets the calls of the API server. */
async function replica({
  flags = [],
  environment = {},
}: {
  readonly flags?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
} = {}): Promise<WebhookProcess> {
  const guard = `--controller-user=${controllerUser}`;
  const webhook = new WebhookProcess({ kubeconfig, environment, flags: [guard, ...flags] });
  await webhook.ready();
  await hub.routeService(names, await webhook.port());
  return webhook;
}

const answered = () =>
  waitFor("an answer of the webhook", async () => (await askForAnchor(hub)) === 403);

async function textIn(key: string): Promise<string> {
  const data = valueAt(await hub.admin.get(secret), "data", key);
  return typeof data === "string" ? Buffer.from(data, "base64").toString() : "";
}

/** Waits until the Secret, the configuration and what is served fit together again. */
async function whole(webhook: WebhookProcess): Promise<void> {
  await waitFor("certificates that fit together", async () => {
    const leaf = await textIn("tls.crt");
    const trusted = await trustedOn(hub);
    return (
      trusted !== "" &&
      trusted === (await textIn("ca.crt")) &&
      (await shownBy(webhook)) === new X509Certificate(leaf).fingerprint256
    );
  });
  await answered();
}

async function shownBy(webhook: WebhookProcess): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const options = {
    port: await webhook.port(),
    host: "127.0.0.1",
    servername,
    ca: await trustedOn(hub),
  };
  const socket = connect(options, () => {
    resolve(socket.getPeerX509Certificate()?.fingerprint256 ?? "");
    socket.destroy();
  });
  socket.on("error", reject);
  return promise;
}

test("the API server reaches the webhook by its Service, with the documented rights and no others", async () => {
  await using webhook = await replica();
  await answered();
  await whole(webhook);
  const component = {
    apiVersion: "operator.knative.dev/v1beta1",
    kind: "KnativeServing",
    metadata: { namespace: "guarded", name: "wrong" },
    spec: { version: "one" },
  };
  await expect(hub.admin.create(component)).rejects.toThrow(/components.*spec\.version: /s);
  const map = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      namespace: names.namespace,
      name: "providers",
      labels: { "knfleet.dev/access-providers": "" },
    },
    data: { "providers.json": "{" },
  };
  await expect(hub.admin.create(map)).rejects.toThrow(/provider-file.*data/s);
  expect(hub.egress?.asked[0]).toMatch(/^10\.96\.\d+\.\d+:443$/);
  expect(webhook.stdout).not.toContain("forbidden");
  expect(webhook.stdout).not.toContain("PRIVATE KEY");
});

test("T-72 a forged review is answered to nobody but the API server, which shows its certificate", async () => {
  await using webhook = await replica({ flags: known.webhookFlags });
  await answered();
  const forged = reviewOf({ userInfo: { username: "alice" } });
  const agent = new Agent({ ca: await trustedOn(hub), servername });
  const sent = exchange({
    url: `https://127.0.0.1:${await webhook.port()}/validate/components`,
    method: "POST",
    agent,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(forged),
  });
  await expect(sent).rejects.toBeInstanceOf(Error);
  agent.destroy();

  // The same question through the API server, which knows who asks.
  const [alice, mallory] = await Promise.all([
    hub.serviceAccountToken({ namespace: "team", name: "alice", rules: [mayWrite, mayUse] }),
    hub.serviceAccountToken({ namespace: "team", name: "mallory", rules: [mayWrite] }),
  ]);
  const asks = (user: ServiceAccountToken, cluster: string) =>
    sendAs(hub, user.token, ["POST", components, servingOn(cluster)]);
  await expect.poll(async () => (await asks(alice, "spoke-1")).status).toBe(201);
  const refusal = async (cluster: string) =>
    (await asks(mallory, cluster)).message.replaceAll(cluster, "one");
  await expect.poll(() => refusal("spoke-1")).toContain("may not use");
  expect(await refusal("no-such-cluster")).toBe(await refusal("spoke-1"));
});

const components = "/apis/operator.knative.dev/v1beta1/namespaces/team/knativeservings?dryRun=All";
const mayWrite = {
  apiGroups: ["operator.knative.dev"],
  resources: ["knativeservings"],
  verbs: ["create"],
};
const mayUse = {
  apiGroups: ["multicluster.x-k8s.io"],
  resources: ["clusterprofiles"],
  resourceNames: ["spoke-1"],
  verbs: ["use"],
};
const servingOn = (cluster: string) => ({
  apiVersion: "operator.knative.dev/v1beta1",
  kind: "KnativeServing",
  metadata: { namespace: "team", name: "known" },
  spec: { clusterProfileRef: { namespace: "fleet", name: cluster } },
});

test("replicas that start together serve the same certificate", async () => {
  await hub.admin.remove(secret);
  await using first = await replica();
  await using second = await replica();
  await using third = await replica();
  await whole(third);
  const [one, ...others] = await Promise.all([first, second, third].map(shownBy));
  expect(others).toEqual([one, one]);
});

test("C2, G7: when one of two replicas is killed under load, calls fail for a moment at most and then none", async () => {
  await using balancer = await startBalancer();
  const flags = [`--controller-user=${controllerUser}`];
  await using first = new WebhookProcess({ kubeconfig, flags });
  await using second = new WebhookProcess({ kubeconfig, flags });
  await balancer.add(first);
  await balancer.add(second);
  await hub.routeService(names, balancer.port);
  await waitFor("an answer", async () => (await askForAnchor(hub)) === 403, { timeoutMs: 90_000 });

  await using load = keepAskingForAnchors(hub, workers);
  const { answers } = load;
  const enough = (count: number) => () => answers.length >= count;
  await waitFor("load", enough(100), { timeoutMs: 90_000 });
  expect(answers.filter(({ status }) => status !== 403)).toEqual([]);
  const killedAt = performance.now();
  // The one that has the API server's connection: it logs what it refuses.
  const [victim] = [first, second].toSorted((a, b) => b.stdout.length - a.stdout.length);
  victim?.signal("SIGKILL");
  await victim?.exited;
  await delay(calmMs);
  const calmFrom = performance.now();
  const calm = answers.length;
  await waitFor("load after it", enough(calm + 200), { timeoutMs: 90_000 });
  await load[Symbol.asyncDispose]();

  // 500 is a call that could not be made; nothing is ever let through.
  expect(answers.filter(({ status }) => status !== 403 && status !== 500)).toEqual([]);
  const lost = answers.filter(({ status }) => status === 500);
  expect(lost.filter(({ at }) => at < killedAt || at > calmFrom)).toEqual([]);
  // What was in flight, and at most as many again before the Service knew.
  expect(lost.length).toBeLessThanOrEqual(2 * workers);
}, 300_000);

const patchSecret = async (data: Readonly<Record<string, string | null>>) =>
  hub.admin.patch(secret, { data });
const patchBundle = (caBundle: string) => overwriteBundle(hub, caBundle);

describe("a running webhook heals by itself", () => {
  test("a Secret that was deleted, an emptied or foreign part of it, and a caBundle that was changed", async () => {
    await using webhook = await replica();
    await whole(webhook);
    await hub.admin.remove(secret);
    await whole(webhook);
    await patchSecret({ "tls.crt": "Z2FyYmFnZQ==" });
    await whole(webhook);
    await patchSecret({ "authority.key": "" });
    await whole(webhook);
    await patchSecret({ "ca.crt": "Z2FyYmFnZQ==" });
    await whole(webhook);
    await patchBundle("");
    await whole(webhook);
    const foreign = storedCertificatesOf(undefined, []);
    const settings = { leafMs: day, authorityMs: day, overlapMs: 1_000, dnsNames: ["a"] };
    const view = { stored: foreign, remembered: [], nowMs: Date.now() };
    const { authority } = await certificatesAfter("begin", view, settings);
    await patchBundle(Buffer.from(authority?.certificatePem ?? "").toString("base64"));
    await whole(webhook);
    expect(await trustedOn(hub)).not.toContain(authority?.certificatePem);
  });

  test("and leaves a caBundle to cert-manager where that has been asked", async () => {
    await using webhook = await replica();
    await whole(webhook);
    const annotation = "cert-manager.io/inject-ca-from";
    const annotate = (value: string | null) =>
      hub.admin.patch(configurationKey, { metadata: { annotations: { [annotation]: value } } });
    await annotate("knfleet-system/webhook");
    await patchBundle("");
    // A renewal that the webhook makes after that shows that it has seen it.
    const before = await textIn("tls.crt");
    await patchSecret({ "tls.crt": "Z2FyYmFnZQ==" });
    await waitFor("a renewal", async () => {
      const now = await textIn("tls.crt");
      return now !== before && now !== "garbage";
    });
    expect(await trustedOn(hub)).toBe("");
    await annotate(null);
    await whole(webhook);
  });
});

test("a webhook that starts with an expired certificate serves a new one", async () => {
  const settings = {
    leafMs: 7 * day,
    authorityMs: 90 * day,
    overlapMs: 3_600_000,
    dnsNames: [servername],
  };
  const old = { stored: storedCertificatesOf(undefined, []), remembered: [] };
  const expired = await certificatesAfter(
    "begin",
    { ...old, nowMs: Date.now() - 8 * day },
    settings,
  );
  await hub.admin.remove(secret);
  const { apiVersion, kind, namespace, name } = secret;
  const data = secretDataOf(expired);
  const metadata = { namespace, name };
  await hub.admin.create({ apiVersion, kind, type: "kubernetes.io/tls", metadata, data });
  await using webhook = await replica();
  await whole(webhook);
  const leaf = new X509Certificate(await textIn("tls.crt"));
  expect(leaf.validToDate.getTime()).toBeGreaterThan(Date.now());
});

test("a webhook whose clock is 8 days ahead makes certificates that hold now", async () => {
  await hub.admin.remove(secret);
  const ahead = `const now = Date.now; Date.now = () => now() + ${8 * day};`;
  const environment = {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(ahead)}`,
  };
  await using webhook = await replica({ environment });
  await whole(webhook);
  const leaf = new X509Certificate(await textIn("tls.crt"));
  expect(leaf.validFromDate.getTime()).toBeLessThan(Date.now());
  expect(webhook.lines("Wrote the certificates").length).toBe(1);
});

test("no call is lost while authorities and certificates change", async () => {
  await hub.admin.remove(secret);
  const flags = ["--authority-lifetime=18s", "--certificate-lifetime=15s"];
  await using webhook = await replica({ flags });
  await answered();
  const answers: number[] = [];
  const steps = () => webhook.lines("Wrote the certificates").map(({ step }) => step);
  await waitFor(
    "a new certificate, a change of the authority, and the end of the old one",
    async () => {
      answers.push(await askForAnchor(hub));
      return ["renew", "promote", "mend"].every((step) => steps().includes(step));
    },
    { timeoutMs: 180_000 },
  );
  expect(new Set(answers)).toEqual(new Set([403]));
});
