import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { Agent } from "node:https";
import { promisify } from "node:util";

import { describe, expect, test } from "vitest";
import { parse } from "yaml";

import type { Cluster } from "./cluster.ts";
import type { PluginName, Profile } from "./fleet.ts";
import { exchange } from "./https-exchange.ts";
import { conditionOf, isRecord, valueAt } from "./json-record.ts";
import { useFleet } from "./use-fleet.ts";
import { waitFor } from "./wait-for.ts";

const fleet = useFleet({ spokes: 1 });
const spoke = () => fleet().spoke(0);

describe.each(["secretreader", "kubeconfig-secretreader"] as const)(
  "a profile with %s",
  (plugin) => {
    test("leads to a token that the spoke accepts, with the documented role and no more", async () => {
      const profile = await fleet().addProfile(spoke(), { plugin, name: `first-${plugin}` });
      const token = await runPlugin(profile, await fleet().providerFile());
      expect(token).toBe(profile.token);
      expect(await ask(token, "/api/v1/namespaces")).toBe(200);
      expect(await ask(token, "/apis/apps/v1/deployments")).toBe(200);
      expect(await ask(token, "/api/v1/nodes")).toBe(403);
    });
  },
);

describe("a profile", () => {
  test("has a token that is refused after it was revoked, and a good one after it was renewed", async () => {
    const profile = await fleet().addProfile(spoke(), {
      plugin: "kubeconfig-secretreader",
      name: "revoked",
      identity: { namespace: "revoking", name: "hub", clusterRoles: ["knfleet-spoke"] },
    });
    expect(await ask(profile.token, "/api/v1/namespaces")).toBe(200);
    await profile.revoke();
    await waitFor("401", async () => (await ask(profile.token, "/api/v1/namespaces")) === 401);
    const renewed = await profile.renew();
    expect(await runPlugin(profile, await fleet().providerFile())).toBe(renewed);
    expect(await ask(renewed, "/api/v1/namespaces")).toBe(200);
  });

  test("is healthy and offers the spoke through the proxy", async () => {
    const profile = await fleet().addProfile(spoke(), { plugin: "secretreader", name: "plain" });
    const found = await read(profile);
    expect(conditionOf(found, "ControlPlaneHealthy")?.status).toBe("True");
    expect(accessCluster(found)).toMatchObject({ server: spoke().proxy.url });
  });

  test("can be changed: health, way in, anything of the cluster entry", async () => {
    const profile = await fleet().addProfile(spoke(), { plugin: "secretreader", name: "changing" });
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
    const { hub } = fleet();
    const secrets = "/api/v1/namespaces/fleet-credentials/secrets";
    expect(await ask(token, `${secrets}/plain`, hub)).toBe(200);
    expect(await ask(token, secrets, hub)).toBe(403);
    expect(await ask(token, "/api/v1/namespaces/kube-system/secrets/any", hub)).toBe(403);
  });

  test("gives the controller what it needs and no cluster-admin", async () => {
    const token = await tokenOf(await fleet().controllerKubeconfig());
    const { hub } = fleet();
    const profiles = "/apis/multicluster.x-k8s.io/v1alpha1/clusterprofiles";
    expect(await ask(token, profiles, hub)).toBe(200);
    expect(await ask(token, "/apis/apps/v1/deployments", hub)).toBe(200);
    expect(await ask(token, "/api/v1/nodes", hub)).toBe(403);
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

/** Runs a plugin as the provider file says and gives the token that it prints. */
async function runPlugin(profile: Profile, providerFile: string): Promise<unknown> {
  const { command, environment } = providerOf(
    JSON.parse(await readFile(providerFile, "utf8")),
    profile.plugin,
  );
  const cluster = accessCluster(await read(profile));
  const info = {
    apiVersion: "client.authentication.k8s.io/v1",
    kind: "ExecCredential",
    spec: {
      interactive: false,
      cluster: {
        server: valueAt(cluster, "server"),
        "certificate-authority-data": valueAt(cluster, "certificate-authority-data"),
        config: valueAt(cluster, "extensions", 0, "extension"),
      },
    },
  };
  const { stdout } = await promisify(execFile)(command, [], {
    env: { ...environment, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
  });
  return valueAt(JSON.parse(stdout), "status", "token");
}

function providerOf(file: unknown, plugin: PluginName) {
  const providers = valueAt(file, "providers");
  const found: unknown = Array.isArray(providers)
    ? providers.find((provider) => valueAt(provider, "name") === plugin)
    : undefined;
  const name = String(valueAt(found, "execConfig", "env", 0, "name"));
  return {
    command: String(valueAt(found, "execConfig", "command")),
    environment: { [name]: String(valueAt(found, "execConfig", "env", 0, "value")) },
  };
}

async function tokenOf(kubeconfigPath: string): Promise<unknown> {
  const kubeconfig: unknown = parse(await readFile(kubeconfigPath, "utf8"));
  expect(isRecord(kubeconfig)).toBe(true);
  return valueAt(kubeconfig, "users", 0, "user", "token");
}

async function ask(token: unknown, path: string, cluster: Cluster = spoke()): Promise<number> {
  const agent = new Agent({ ca: cluster.caPem });
  const headers = { authorization: `Bearer ${String(token)}` };
  return (await exchange({ url: `${cluster.server}${path}`, method: "GET", agent, headers }))
    .status;
}
