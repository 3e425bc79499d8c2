import { readFile } from "node:fs/promises";
import { Agent } from "node:https";

import { describe, expect, test } from "vitest";
import { parse } from "yaml";

import type { Profile } from "./fleet.ts";
import { exchange } from "./https-exchange.ts";
import { conditionOf, isRecord, valueAt } from "./json-record.ts";
import { useFleet } from "./use-fleet.ts";

const fleet = useFleet({ spokes: 1 });
const spoke = () => fleet().spoke(0);

describe("a profile", () => {
  test("can be changed: health, way in, anything of the cluster entry", async () => {
    const profile = await fleet().addProfile(spoke(), { plugin: "secretreader", name: "changing" });
    expect(conditionOf(await read(profile), "ControlPlaneHealthy")?.status).toBe("True");
    expect(accessCluster(await read(profile))).toMatchObject({ server: spoke().proxy.url });
    await profile.update({ healthy: false, via: "direct" });
    expect(conditionOf(await read(profile), "ControlPlaneHealthy")?.status).toBe("False");
    expect(accessCluster(await read(profile))).toMatchObject({ server: spoke().server });
    await profile.update({ healthy: "missing", cluster: { "tls-server-name": "other.example" } });
    expect(conditionOf(await read(profile), "ControlPlaneHealthy")).toBeUndefined();
    expect(accessCluster(await read(profile))).toMatchObject({
      server: spoke().server,
      "tls-server-name": "other.example",
    });
    await profile.remove();
    expect(await read(profile)).toBeUndefined();
  });
});

describe("the hub", () => {
  test("lets the plugins read Secrets of the credential namespace and nothing else", async () => {
    const file = JSON.parse(await readFile(await fleet().providerFile(), "utf8"));
    const path = String(valueAt(file, "providers", 0, "execConfig", "env", 0, "value"));
    const token = await tokenOf(path);
    await fleet().addProfile(spoke(), { plugin: "secretreader", name: "plain" });
    const secrets = "/api/v1/namespaces/fleet-credentials/secrets";
    expect(await ask(token, `${secrets}/plain`)).toBe(200);
    expect(await ask(token, secrets)).toBe(403);
    expect(await ask(token, "/api/v1/namespaces/kube-system/secrets/any")).toBe(403);
  });

  test("gives the controller what it needs and no cluster-admin", async () => {
    const token = await tokenOf(await fleet().controllerKubeconfig());
    const profiles = "/apis/multicluster.x-k8s.io/v1alpha1/clusterprofiles";
    expect(await ask(token, profiles)).toBe(200);
    expect(await ask(token, "/apis/apps/v1/deployments")).toBe(200);
    expect(await ask(token, "/api/v1/nodes")).toBe(403);
  });
});

async function read({ namespace, name }: Profile): Promise<unknown> {
  return fleet().hub.admin.get({
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    namespace,
    name,
  });
}

function accessCluster(profile: unknown): unknown {
  return valueAt(profile, "status", "accessProviders", 0, "cluster");
}

async function tokenOf(kubeconfigPath: string): Promise<unknown> {
  const kubeconfig: unknown = parse(await readFile(kubeconfigPath, "utf8"));
  expect(isRecord(kubeconfig)).toBe(true);
  return valueAt(kubeconfig, "users", 0, "user", "token");
}

async function ask(token: unknown, path: string): Promise<number> {
  const { server, caPem } = fleet().hub;
  const agent = new Agent({ ca: caPem });
  const headers = { authorization: `Bearer ${String(token)}` };
  return (await exchange({ url: `${server}${path}`, method: "GET", agent, headers })).status;
}
