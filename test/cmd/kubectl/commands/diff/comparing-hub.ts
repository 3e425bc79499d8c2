import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { isRecord } from "../../../../../api/fields.ts";
import { objectId } from "../../../../../api/keys.ts";
import { keyOf, type KubeObject, type Manifest } from "../../../../../api/kubernetes.ts";
import { tableResource } from "../../../../../api/resources.ts";
import { recordedBinding } from "../../controller-binding.ts";
import { component } from "../../fleet-facts.ts";
import { startStubHub, type Answer, type StubHub } from "../../stub-hub.ts";
import { answersTables } from "../../stub-tables.ts";

/** What no output may have. */
export const secretValue = "c3VwZXItc2VjcmV0";

const namespace = "team-a";
const app = { app: "thin" };
const labels = { "app.kubernetes.io/name": "knative-eventing" };

/** What is installed, but for two objects as somebody else has left them. */
const release: readonly Manifest[] = [
  { apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace, name: "thin", labels } },
  {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace, name: "config-thin", labels },
    data: { size: "1" },
  },
  {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace, name: "thin", labels },
    data: { key: secretValue },
  },
  {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace, name: "thin", labels },
    spec: {
      selector: { matchLabels: app },
      template: {
        metadata: { labels: app },
        spec: { containers: [{ name: "thin", image: "registry.example.com/thin:1.23.0" }] },
      },
    },
  },
];

const local = component({ kind: "KnativeEventing", cluster: null, wanted: "1.23" });

/** A hub whose API server answers dry runs, and a release directory. */
export interface ComparingHub extends StubHub {
  readonly releaseDir: string;
}

/** Answers with a controller that takes Kubernetes from a version on. */
export function controllerTaking(minimum: string): Answer {
  const env = [{ name: "KUBERNETES_MIN_VERSION", value: minimum }];
  const controller = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: {
      namespace: "knfleet-system",
      name: "knfleet-controller",
      uid: "c",
      resourceVersion: "1",
    },
    spec: { template: { spec: { containers: [{ name: "controller", env }] } } },
  };
  const items: Readonly<Record<string, KubeObject | undefined>> = {
    "/apis/apps/v1/deployments": controller,
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings": recordedBinding(
      "knfleet",
      "knfleet-system",
    ),
  };
  return ({ path }) => {
    const item = items[path];
    return item && { body: { metadata: { resourceVersion: "1" }, items: [item] } };
  };
}

interface Options {
  /** The component; absent: one that is installed. */
  readonly installed?: KubeObject;
  /** Asked before all others. */
  readonly answer?: Answer;
}

/** Starts a hub on which `changed` stands in place of what the release has; `undefined` for an object that is gone. */
export async function startComparingHub(
  changed: Readonly<Record<string, object | undefined>>,
  { installed = local, answer = () => undefined }: Options = {},
): Promise<ComparingHub> {
  const folder = await mkdtemp(join(tmpdir(), "knfleet-thin-release-"));
  const part = join(folder, "knative-eventing", "1.23.0");
  await mkdir(part, { recursive: true });
  await writeFile(
    join(part, "1-thin.yaml"),
    release.map((one) => JSON.stringify(one)).join("\n---\n"),
  );
  const live = new Map(
    release.flatMap((manifest) => {
      const { kind, metadata } = manifest;
      const id = `${kind}/${metadata.name ?? ""}`;
      if (id in changed && changed[id] === undefined) return [];
      return [[pathOf(manifest), stored({ ...manifest, ...changed[id] })] as const];
    }),
  );
  const objects = [installed, ...namespaces, ...live.values()];
  const tables = answersTables(objects);
  const hub = await startStubHub(objects, (request) => {
    const { method, path, body } = request;
    const said = answer(request) ?? tables(request);
    if (said !== undefined || method === "GET") return said;
    if (method !== "PATCH") return { body };
    return { body: merged(live.get(path), body) };
  });
  return {
    ...hub,
    releaseDir: folder,
    async [Symbol.asyncDispose]() {
      await hub[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const namespaces = ["kube-system", namespace].map((name): KubeObject => {
  const metadata = { name, uid: `12345678-${name}`, resourceVersion: "1" };
  return { apiVersion: "v1", kind: "Namespace", metadata };
});

function pathOf(manifest: Manifest): string {
  const { apiVersion, kind, metadata } = manifest;
  const plural = tableResource(apiVersion, kind)?.plural ?? "";
  const base = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return `${base}/namespaces/${metadata.namespace ?? ""}/${plural}/${metadata.name ?? ""}`;
}

function stored(manifest: Manifest): KubeObject {
  const { metadata } = manifest;
  const labelsOfOurs = { ...metadata.labels, "knfleet.dev/component-uid": local.metadata.uid };
  return {
    ...manifest,
    metadata: {
      ...metadata,
      name: metadata.name ?? "",
      labels: labelsOfOurs,
      uid: objectId(keyOf(manifest)),
      resourceVersion: "5",
      managedFields: [{ manager: "kubectl-edit", operation: "Update" }],
    },
    status: { seen: true, ...(isRecord(manifest["status"]) ? manifest["status"] : {}) },
  };
}

/** What a server makes of an apply, as far as these objects need it. */
function merged(before: unknown, after: unknown): unknown {
  if (Array.isArray(before) && Array.isArray(after)) {
    return after.map((item: unknown, at) => merged(before[at], item));
  }
  if (!isRecord(before) || !isRecord(after)) return after;
  const fields = Object.entries(after).map(([name, value]) => [name, merged(before[name], value)]);
  return { ...before, ...Object.fromEntries(fields) };
}
