// @module-tag namespaces
// Servers of its own: the API server of a spoke is frozen.
import { cp, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { beforeAll, describe, expect, test } from "vitest";

import { clusterProfileApiVersion } from "../../api/cluster-profile.ts";
import { sampleDirOf } from "../../cmd/release-files.ts";
import { guardLabels } from "../../installation/anchor.ts";
import { pathWithPlugin } from "../cmd/kubectl/plugin-folder.ts";
import { rowsOf } from "../cmd/kubectl/run-knfleet.ts";
import { startStubKubelet } from "../cmd/kubectl/stub-kubelet.ts";
import { ensureBinaries } from "../fleet/binaries.ts";
import type { Cluster } from "../fleet/fleet.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { installInventoryCrd } from "../fleet/ocm/crds.ts";
import { waitFor } from "../fleet/wait-for.ts";
import {
  change,
  condition,
  create,
  gone,
  inventoryOf,
  leftovers,
  read,
  ready,
  remove,
} from "./installation.ts";
import { profileNamespace, useOcmScene, wayIn } from "./ocm-scene.ts";
import { guardRequestsTo, requestsTo, watchesSeenBefore } from "./requests.ts";

const kind = "KnativeServing";
const on = { namespace: profileNamespace, name: "spoke-1" };
const configMap = {
  apiVersion: "v1",
  kind: "ConfigMap",
  namespace: "knative-serving",
  name: "config-features",
};
// A name that cluster-proxy does not pass on when its colon is escaped.
const role = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  name: "knative-serving:reader",
};

const scene = useOcmScene(async ({ folder }) => {
  const releases = join(folder, "releases");
  await cp(sampleDirOf(), releases, { recursive: true });
  const versions = join(releases, "knative-serving");
  for (const version of await readdir(versions)) {
    const { name, ...type } = role;
    const file = join(versions, version, "9-reader.yaml");
    await writeFile(file, JSON.stringify({ ...type, metadata: { name }, rules: [] }));
  }
  return releases;
});
let before: ReadonlySet<string>;

beforeAll(async () => {
  before = await inventoryOf(scene().spoke);
});

type Counts = Readonly<Record<string, number>>;

/**
 * What the controller asked of the spoke since a time, by verb and resource; without the question whether it is there. Whether another anchor was first counts once: where answers take
 * long, the controller asks again.
 */
async function asked(spoke: Cluster, since: Date): Promise<Counts> {
  const counts: Record<string, number> = {};
  const isAgain = watchesSeenBefore();
  for (const request of await requestsTo(spoke, since)) {
    const { verb, resource, uri, code } = request;
    if (isAgain(request)) continue;
    // A server takes a moment to serve the kinds of new definitions.
    if (uri === "/version" || (verb === "patch" && code === 404)) continue;
    const name = `${verb} ${resource || (uri.split("?", 1)[0] ?? "")}`;
    counts[name] = name === "list configmaps" ? 1 : (counts[name] ?? 0) + 1;
  }
  return counts;
}

/** How often the guard tried what its policies refuse. */
async function proofRounds(): Promise<number> {
  const requests = await guardRequestsTo(scene().spoke);
  return requests.filter(({ uri }) => uri.startsWith("/api/v1/namespaces?dryRun=All")).length;
}

/** How often a credential plugin ran. */
async function pluginRuns(): Promise<number> {
  const text = await scene().controller.metrics();
  const runs = text.matchAll(/^knfleet_exec_plugin_runs_total\{.*\} (\d+)$/gm);
  return [...runs].reduce((sum, [, count]) => sum + Number(count), 0);
}

/**
 * Waits until the policies of a component that is gone are out of force: a server goes on with them for about a second. They would refuse the controller,
 * which comes to the spoke as another user by each ClusterProfile, and it would begin once more.
 */
async function guardForgotten(): Promise<void> {
  const { hub, spoke } = scene();
  const system = { apiVersion: "v1", kind: "Namespace", name: "kube-system" };
  const hubId = (await hub.admin.get(system))?.metadata.uid ?? "";
  const metadata = { name: "guarded", labels: { [guardLabels.namespace]: hubId } };
  const guarded = { apiVersion: "v1", kind: "Namespace", metadata };
  await waitFor("the guard to be forgotten", () =>
    spoke.admin.request("POST", "/api/v1/namespaces?dryRun=All", guarded).then(
      () => true,
      () => false,
    ),
  );
}

/** Changes an object on the spoke and waits until the controller has repaired it. */
async function repaired(): Promise<void> {
  await scene().spoke.admin.remove(configMap);
  await waitFor("the repair", () => scene().spoke.admin.get(configMap));
}

describe("a spoke that is reached through OCM's cluster-proxy", () => {
  test("gets an installation, also of a name with a colon", async () => {
    await create(scene().hub, { kind, on, spec: { version: "1.22" } });
    const component = await ready(scene().hub, kind, 60_000);
    expect(conditionOf(component, "TargetClusterResolved")?.status).toBe("True");
    expect(await scene().spoke.admin.get(role)).toBeDefined();
    expect(await pluginRuns()).toBe(1);
    await condition(scene().hub, kind, ["AnchorProtected", { status: "True" }]);
    // As to any spoke, whatever the tunnel makes of each request: one, and one for each round of the guard's proof, which goes on beside a slow installation.
    expect(scene().addons.connections - (await proofRounds())).toBeLessThanOrEqual(2);
  });

  test("is watched, and what is lost there is repaired", async () => {
    await repaired();
    await scene().spoke.admin.remove(role);
    expect(await waitFor("the repair", () => scene().spoke.admin.get(role))).toBeDefined();
  });

  test("is asked by kubectl knfleet as any other", async () => {
    const kubectl = await ensureBinaries(["kubectl"]);
    const PATH = `${dirname(kubectl("kubectl"))}:${await pathWithPlugin(scene().fleet.folder)}`;
    await using kubelet = await startStubKubelet(scene().spoke);
    kubelet.write("controller", "controller is here");
    const [diagnose, deployments, logs, connect] = await Promise.all([
      scene().knfleet(["diagnose", "ks/knative-serving", "-n", "knative-serving", "-o", "json"]),
      scene().knfleet(["deployments", "-A"]),
      scene().knfleet(["logs", "ks/knative-serving", "-n", "knative-serving", "--cluster=spoke-1"]),
      scene().knfleet(["connect", "fleet/spoke-1", "--", "kubectl", "get", "ns", "-o", "name"], {
        PATH,
      }),
    ]);
    const hops = valueAt(JSON.parse(diagnose.stdout), "items", 0, "hops");
    const troubled = (Array.isArray(hops) ? hops : []).filter(
      (hop: unknown) => valueAt(hop, "state") !== "OK",
    );
    // The controller of this test is no Deployment, and the identity of the proxy may not list what users have.
    expect(troubled).toEqual([
      expect.objectContaining({ id: "controller" }),
      expect.objectContaining({ id: "workloads", state: "SKIPPED" }),
    ]);
    expect(diagnose.stdout).toContain("cluster-proxy-addon-user");
    expect(rowsOf(deployments.stdout)).toEqual(
      expect.arrayContaining([expect.objectContaining({ CLUSTER: "spoke-1", NAME: "webhook" })]),
    );
    expect(logs.stdout).toContain("controller is here");
    expect(connect).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining("namespace/knative-serving\n"),
    });
  });

  test("gets another version", async () => {
    await change(scene().hub, kind, { version: "1.23" });
    await waitFor("the new version", async () => {
      const component = await read(scene().hub, kind);
      return valueAt(component, "status", "version") === "1.23.1";
    });
    await ready(scene().hub, kind, 60_000);
    expect(await pluginRuns()).toBe(1);
  });
});

describe("trouble on the way", () => {
  test("a frozen API server is an outage, and its credential is used again afterwards", async () => {
    scene().spoke.pause();
    try {
      const message = /does not reach the API server|did not answer|no answer/;
      await condition(scene().hub, kind, ["Ready", { status: "Unknown", message }]);
    } finally {
      scene().spoke.resume();
    }
    await ready(scene().hub, kind, 60_000);
    await repaired();
    expect(await pluginRuns()).toBe(1);
  });

  test("a tunnel whose end is gone is an outage at once, and what changed meanwhile is repaired afterwards", async () => {
    await scene().spokeAddons.stopTunnel();
    const lost = await condition(scene().hub, kind, [
      "Ready",
      { status: "Unknown", message: /502/ },
    ]);
    expect(conditionOf(lost, "TargetClusterResolved")?.reason).toMatch(/Remote|Unreachable/);
    await scene().spoke.admin.remove(configMap);
    await scene().spokeAddons.startTunnel();
    await ready(scene().hub, kind, 60_000);
    await waitFor("the repair", () => scene().spoke.admin.get(configMap));
    expect(await pluginRuns()).toBe(1);
  });
});

test("with the ClusterProfile CRD of the Cluster Inventory API OCM writes the same, and the component goes on", async () => {
  await installInventoryCrd(scene().hub);
  await scene().hub.admin.remove({
    apiVersion: clusterProfileApiVersion,
    kind: "ClusterProfile",
    ...on,
  });
  const { metadata } = await wayIn(scene().hub, scene().spoke);
  const { name, namespace } = metadata;
  const profile = { apiVersion: clusterProfileApiVersion, kind: "ClusterProfile", name, namespace };
  // OCM writes the way in and the conditions one after the other.
  const healthy = await waitFor("OCM's condition", async () =>
    conditionOf(await scene().hub.admin.get(profile), "ControlPlaneHealthy"),
  );
  expect(healthy["status"]).toBe("True");
  await ready(scene().hub, kind, 60_000);
  await repaired();
});

test("a removal leaves nothing", async () => {
  await remove(scene().hub, kind);
  await gone(scene().hub, kind);
  expect(await leftovers(scene().spoke, before)).toEqual([]);
});

// More than 15 s: Serving is installed and removed twice, and each time its guard is proven and forgotten.
test("an installation costs as many requests as on a spoke that is dialled", async () => {
  const direct = await scene().fleet.addProfile(scene().spoke, {
    plugin: "secretreader",
    name: "direct",
  });
  expect(direct.name).toBe("direct");
  const costs: Counts[] = [];
  for (const name of ["direct", "spoke-1"]) {
    await guardForgotten();
    const since = new Date();
    await create(scene().hub, { kind, on: { namespace: profileNamespace, name } });
    await condition(scene().hub, kind, ["AnchorProtected", { status: "True" }]);
    await ready(scene().hub, kind, 60_000);
    costs.push(await asked(scene().spoke, since));
    await remove(scene().hub, kind);
    await gone(scene().hub, kind);
  }
  expect(costs[1]).toEqual(costs[0]);
});
