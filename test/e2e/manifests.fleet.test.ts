import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { createAuthority } from "../fleet/certificates.ts";
import { valueAt } from "../fleet/json-record.ts";
import { portOf } from "../fleet/ports.ts";
import { useFleet } from "../fleet/use-fleet.ts";
import { type ControllerProcess, startControllerProcess } from "../support/controller-process.ts";
import { change, condition, create, ready } from "./installation.ts";
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
      answer.end("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config-extra}\ndata: {a: b}\n");
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

test("a component brings manifests from an allowed source, and takes them away again", async () => {
  const { hub } = fleet();
  const spoke = fleet().spoke(0);
  const { namespace, name } = await fleet().addProfile(spoke, { plugin: "secretreader" });
  const additionalManifests = [{ URL: `${server}/ours/\${VERSION}.yaml` }];
  await create(hub, { kind, on: { namespace, name }, spec: { additionalManifests } });
  await ready(hub, kind);
  expect(valueAt(await spoke.admin.get(extra), "data", "a")).toBe("b");
  expect(new Set(requests)).toEqual(new Set(["/ours/1.23.0.yaml"]));

  // A URL that is not allowed is never asked for, and nothing is taken away because of it.
  await change(hub, kind, { additionalManifests: [{ URL: `${server}/theirs/a.yaml` }] });
  const refused = { status: "False", reason: "ManifestSourceNotAllowed" } as const;
  await condition(hub, kind, ["InstallSucceeded", refused, 5_000]);
  expect(await spoke.admin.get(extra)).toBeDefined();
  expect(requests).not.toContain("/theirs/a.yaml");

  await change(hub, kind, { additionalManifests: [] });
  await ready(hub, kind);
  await expect.poll(() => spoke.admin.get(extra), { timeout: 60_000 }).toBeUndefined();
  expect(controller.stdout).not.toContain("Error: ");
});

test("a cluster that is older than the least version is left as it is", async () => {
  const { hub } = fleet();
  await controller[Symbol.asyncDispose]();
  await start({ KUBERNETES_MIN_VERSION: "v9.0.0" });
  await change(hub, kind, { config: { logging: { a: "b" } } });
  const refused = { status: "False", reason: "KubernetesVersionTooOld" } as const;
  await condition(hub, kind, ["InstallSucceeded", refused, 10_000]);
  await condition(hub, kind, ["TargetClusterResolved", { status: "True" }, 1_000]);
  const logging = { ...extra, name: "config-logging" };
  expect(valueAt(await fleet().spoke(0).admin.get(logging), "data", "a")).toBeUndefined();
});
