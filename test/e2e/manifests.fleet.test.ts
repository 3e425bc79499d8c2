import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

import type { ComponentKind } from "../../api/component.ts";
import { type KubeObject, keyOf, type Manifest, type ObjectKey } from "../../api/kubernetes.ts";
import { componentUidLabel } from "../../installation/anchor.ts";
import { definitionOf } from "../controller/hand-made-installation.ts";
import { createAuthority } from "../fleet/certificates.ts";
import { valueAt } from "../fleet/json-record.ts";
import { portOf } from "../fleet/ports.ts";
import { useFleet } from "../fleet/use-fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { type ControllerProcess, startControllerProcess } from "../support/controller-process.ts";
import { otherKinds, roof, rules, scopes, webhook } from "./additional-kinds.ts";
import {
  change,
  condition,
  create,
  gone,
  installed,
  observed,
  ready,
  remove,
} from "./installation.ts";
import { releaseDir } from "./release-dir.ts";

const fleet = useFleet({ spokes: 1 });
const kind = "KnativeEventing";
const authority = createAuthority("files");
const identity = authority.issue({ commonName: "files", usage: "server", hosts: ["127.0.0.1"] });
const extra = {
  apiVersion: "v1",
  kind: "ConfigMap",
  namespace: "knative-eventing",
  name: "config-extra",
};

const extraConfig: Manifest = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: extra.name },
  data: { a: "b" },
};

/** A kind to which the controller has no right. */
const wall = definitionOf("example.com", "v1", { Wall: "walls" });
const walls: readonly Manifest[] = [
  wall,
  { apiVersion: "example.com/v1", kind: "Wall", metadata: { name: "high" } },
];

function contentOf(path: string): readonly Manifest[] {
  if (path.endsWith("/webhook.yaml")) return [webhook];
  if (path.endsWith("/walls.yaml")) return walls;
  if (path.endsWith("/own.yaml")) return [webhook, ...scopes];
  if (path.endsWith("/kinds.yaml")) return otherKinds;
  return path.endsWith("/scopes.yaml") ? scopes : [extraConfig];
}

let dir: string;
let server: string;
let requests: (string | undefined)[];
let controller: ControllerProcess;
const stack = new AsyncDisposableStack();

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "knfleet-files-"));
  stack.defer(() => rm(dir, { recursive: true }));
  const caFile = join(dir, "ca.pem");
  await writeFile(caFile, authority.certificatePem);
  requests = [];
  const files = createServer(
    { cert: identity.certificatePem, key: identity.keyPem },
    (asked, answer) => {
      requests.push(asked.url);
      // JSON is YAML.
      answer.end(
        contentOf(asked.url ?? "")
          .map((manifest) => JSON.stringify(manifest))
          .join("\n---\n"),
      );
    },
  ).listen(0, "127.0.0.1");
  await once(files, "listening");
  stack.defer(() => {
    files.closeAllConnections();
    files.close();
  });
  server = `https://127.0.0.1:${portOf(files.address())}`;
  controller = await start({ NODE_EXTRA_CA_CERTS: caFile });
}, 300_000);

async function start(environment: Readonly<Record<string, string>>): Promise<ControllerProcess> {
  return stack.use(
    await startControllerProcess({
      kubeconfig: await fleet().controllerKubeconfig(),
      providerFile: await fleet().providerFile(),
      releaseDir: await releaseDir(),
      flags: [`--manifest-source=${server}/ours/`],
      environment,
    }),
  );
}

afterAll(async () => stack.disposeAsync());

// A test that fails leaves the next one what all of them begin with.
beforeEach(({ onTestFailed }) => {
  onTestFailed(async () => {
    const { hub } = fleet();
    await remove(hub, "KnativeServing");
    await gone(hub, "KnativeServing");
    await change(hub, kind, { additionalManifests: [], config: null });
  });
});

test("a component brings manifests from an allowed source, and takes them away again", async () => {
  const { hub } = fleet();
  const spoke = fleet().spoke(0);
  const { namespace, name } = await fleet().addProfile(spoke, {
    plugin: "secretreader",
    identity: { namespace: "knfleet", name: "hub", clusterRoles: ["knfleet-spoke"], rules },
  });
  const additionalManifests = [{ URL: `${server}/ours/\${VERSION}.yaml` }];
  await create(hub, { kind, on: { namespace, name }, spec: { additionalManifests } });
  await ready(hub, kind);
  expect(valueAt(await spoke.admin.get(extra), "data", "a")).toBe("b");
  expect(new Set(requests)).toEqual(new Set(["/ours/1.23.1.yaml"]));

  // A URL that is not allowed is never asked for, and nothing is taken away because of it.
  await change(hub, kind, { additionalManifests: [{ URL: `${server}/theirs/a.yaml` }] });
  const refused = { status: "False", reason: "ManifestSourceNotAllowed" } as const;
  await condition(hub, kind, ["InstallSucceeded", refused]);
  expect(await spoke.admin.get(extra)).toBeDefined();
  expect(requests).not.toContain("/theirs/a.yaml");

  await change(hub, kind, { additionalManifests: [] });
  await ready(hub, kind);
  await expect.poll(() => spoke.admin.get(extra), { timeout: 60_000 }).toBeUndefined();
  expect(controller.stdout).not.toContain("Error: ");
});

function isDebug(object: KubeObject | undefined): boolean {
  return valueAt(object, "data", "loglevel.controller") === "debug";
}

test("D-19: objects of any kind without a namespace stay without one and without an owner, and go when they are not wanted", async () => {
  const { hub } = fleet();
  const { admin } = fleet().spoke(0);
  await change(hub, kind, { additionalManifests: [{ URL: `${server}/ours/scopes.yaml` }] });
  const [, ...keys] = scopes.map(keyOf);
  await waitFor("them to be there", async () => (await present(keys)).length === keys.length, {
    timeoutMs: 60_000,
  });
  for (const { metadata } of await present(keys)) {
    expect([metadata.namespace, metadata.ownerReferences]).toEqual([undefined, undefined]);
  }
  await ready(hub, kind);
  await change(hub, kind, { additionalManifests: [] });
  await waitFor("them to be gone", async () => (await present(keys)).length === 0, {
    timeoutMs: 60_000,
  });
  expect(await admin.get(keyOf(roof))).toBeDefined();

  async function present(wanted: readonly ObjectKey[]): Promise<readonly KubeObject[]> {
    const found = await Promise.all(wanted.map((key) => admin.get(key).catch(() => undefined)));
    return found.filter((object) => object !== undefined);
  }
});

test("D-16: an object of any kind and scope that such manifests bring is back after its deletion and after its change", async () => {
  const { hub } = fleet();
  const { admin } = fleet().spoke(0);
  await change(hub, kind, { additionalManifests: [{ URL: `${server}/ours/kinds.yaml` }] });
  await observed(hub, kind);
  const { uid } = (await ready(hub, kind)).metadata;
  const names = new Set(otherKinds.map((one) => `${one.kind} ${one.metadata.name}`));
  const objects = await installed(fleet().spoke(0), uid);
  const brought = objects.filter((one) => names.has(`${one.kind} ${one.metadata.name}`));
  expect(brought.map((one) => one.kind).toSorted()).toEqual([
    "Beam",
    "CronJob",
    "DaemonSet",
    "IngressClass",
    "NetworkPolicy",
    "Roof",
    "ValidatingAdmissionPolicy",
  ]);
  for (const before of brought) {
    const key = keyOf(before);
    const until = (what: string, isSo: (live: KubeObject) => boolean) =>
      waitFor(`${key.kind} to be ${what}`, async () => {
        const live = await admin.get(key);
        return live !== undefined && isSo(live);
      });
    await admin.remove(key);
    await until("back", ({ metadata }) => metadata.uid !== before.metadata.uid);
    await admin.patch(key, { metadata: { labels: { [componentUidLabel]: null } } });
    await until("ours again", ({ metadata }) => metadata.labels?.[componentUidLabel] === uid);
  }
  await change(hub, kind, { additionalManifests: [] });
  await ready(hub, kind);
});

test("a kind to which the controller has no right is named and holds nothing else, neither a change nor a repair", async () => {
  const { hub } = fleet();
  const { admin } = fleet().spoke(0);
  await change(hub, kind, { additionalManifests: [{ URL: `${server}/ours/walls.yaml` }] });
  const message =
    /Wall knative-eventing\/high: .*the controller lacks the right to \w+ walls\.example\.com/;
  const refused = { status: "False", message } as const;
  await condition(hub, kind, ["InstallSucceeded", refused]);
  await change(hub, kind, { config: { logging: { "loglevel.controller": "debug" } } });
  const logging = { ...extra, name: "config-logging" };
  await waitFor("the change to be made", async () => isDebug(await admin.get(logging)), {
    timeoutMs: 60_000,
  });
  await admin.remove(logging);
  await waitFor("the repair", async () => isDebug(await admin.get(logging)), {
    timeoutMs: 60_000,
  });
  await condition(hub, kind, ["InstallSucceeded", refused]);
  await condition(hub, kind, ["DeploymentsAvailable", { status: "True" }]);
  await change(hub, kind, { additionalManifests: [], config: null });
  expect(valueAt(await ready(hub, kind), "status", "version")).toBe("1.23.1");
});

test("D-56: TLS without cert-manager holds nothing else, comes with cert-manager, and goes although a group of it is missing", async () => {
  const { hub } = fleet();
  const { admin } = fleet().spoke(0);
  await change(hub, kind, { config: { features: { "transport-encryption": "strict" } } });
  const message = /Certificate .*: The cluster does not serve cert-manager\.io\/v1 Certificate/;
  await condition(hub, kind, ["InstallSucceeded", { status: "Unknown", message }]);
  await condition(hub, kind, ["DeploymentsAvailable", { status: "True" }]);
  const features = { ...extra, name: "config-features" };
  expect(valueAt(await admin.get(features), "data", "transport-encryption")).toBe("strict");
  await admin.apply(definitionOf("cert-manager.io", "v1", { Certificate: "certificates" }));
  await ready(hub, kind, 120_000);
  const certificates = { apiVersion: "cert-manager.io/v1", kind: "Certificate" };
  expect((await admin.list(certificates)).length).toBeGreaterThan(0);
  await change(hub, kind, { config: null });
  await waitFor("them to be gone", async () => (await admin.list(certificates)).length === 0, {
    timeoutMs: 60_000,
  });
  await ready(hub, kind);
});

test("what two components bring is the first one's, and the other one takes it as soon as that has given it up or is removed", async () => {
  const { hub } = fleet();
  const spoke = fleet().spoke(0);
  const both = [{ URL: `${server}/ours/scopes.yaml` }];
  await change(hub, kind, { additionalManifests: both });
  await observed(hub, kind);
  await ready(hub, kind);
  const on = { namespace: "fleet", name: spoke.name };
  const manifests = [{ URL: `${server}/ours/webhook.yaml` }];
  const serving = await create(hub, {
    kind: "KnativeServing",
    on,
    spec: { version: "1.24.0", manifests },
  });
  await ready(hub, "KnativeServing");
  await change(hub, "KnativeServing", { additionalManifests: both });
  await waitsLongFor(kind, "KnativeServing");
  await change(hub, kind, { additionalManifests: [] });
  await expect.poll(owner, { timeout: 60_000 }).toBe(serving.metadata.uid);
  await ready(hub, "KnativeServing");

  const { metadata } = await change(hub, kind, { additionalManifests: both });
  await waitsLongFor("KnativeServing", kind);
  await remove(hub, "KnativeServing");
  await gone(hub, "KnativeServing");
  await expect.poll(owner, { timeout: 60_000 }).toBe(metadata.uid);
  await change(hub, kind, { additionalManifests: [] });
  await observed(hub, kind);
  await ready(hub, kind);

  async function owner(): Promise<string | undefined> {
    const [, , ingressClass] = scopes.map(keyOf);
    const object = ingressClass && (await spoke.admin.get(ingressClass));
    return object?.metadata.labels?.[componentUidLabel];
  }

  /** Back-off grows with every attempt, to far more than a test waits for. */
  async function waitsLongFor(holder: ComponentKind, waiting: ComponentKind): Promise<void> {
    const message = new RegExp(`scopes: Belongs to the installation of ${holder} `);
    const left = await condition(hub, waiting, ["InstallSucceeded", { status: "False", message }]);
    const since = new Date();
    await waitFor("its back-off to have grown", async () => {
      const annotations = { touched: String(Date.now()) };
      await hub.admin.patch(keyOf(left), { metadata: { annotations } });
      const lists = await spoke.auditLog.requests({ since, verb: ["list"] });
      return lists.filter(({ uri }) => uri.includes("managed-by")).length > 18;
    });
  }
}, 300_000);

test("D-14: a component of manifests of its own, for which the bundle has no ingress, goes with all that it brought", async () => {
  const { hub } = fleet();
  const spoke = fleet().spoke(0);
  const serving = await create(hub, {
    kind: "KnativeServing",
    on: { namespace: "fleet", name: spoke.name },
    spec: { version: "1.24.0", manifests: [{ URL: `${server}/ours/own.yaml` }] },
  });
  const component = await ready(hub, "KnativeServing");
  expect(valueAt(component, "status", "manifests")).toEqual([`${server}/ours/own.yaml`]);
  expect((await installed(spoke, serving.metadata.uid)).map((object) => object.kind)).toEqual(
    expect.arrayContaining(["IngressClass", "Roof", "ValidatingAdmissionPolicy"]),
  );
  await remove(hub, "KnativeServing");
  await gone(hub, "KnativeServing");
  expect(await installed(spoke, serving.metadata.uid)).toEqual([]);
});

test("D-31: a cluster that is older than the least version is left as it is", async () => {
  const { hub } = fleet();
  await controller[Symbol.asyncDispose]();
  await start({ KUBERNETES_MIN_VERSION: "v9.0.0" });
  await change(hub, kind, { config: { logging: { a: "b" } } });
  const refused = { status: "False", reason: "KubernetesVersionTooOld" } as const;
  await condition(hub, kind, ["InstallSucceeded", refused]);
  await condition(hub, kind, ["TargetClusterResolved", { status: "True" }]);
  const logging = { ...extra, name: "config-logging" };
  expect(valueAt(await fleet().spoke(0).admin.get(logging), "data", "a")).toBeUndefined();
});
