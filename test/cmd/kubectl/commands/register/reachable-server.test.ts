import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { loadKubeconfig } from "../../../../../access/hub/kubeconfig.ts";
import { accessClusterOf } from "../../../../../access/profiles/profile-objects.ts";
import {
  hostOf,
  isLoopbackHost,
  reachableServer,
  type ServerQuestion,
} from "../../../../../cmd/kubectl/commands/register/reachable-server.ts";

const folder = join(import.meta.dirname, "../../../../fixtures/kubeconfigs");

const kindNames = [
  "DNS:eu-1-control-plane",
  "DNS:kubernetes",
  "DNS:localhost",
  "IP Address:127.0.0.1",
];
const k3sNames = ["DNS:k3d-eu-1-server-0", "DNS:kubernetes.default.svc", "IP Address:0.0.0.0"];
const noNames: readonly string[] = [];

/** The question about a context of a recorded kubeconfig, beside a hub of a context of the same file. */
function questionOf(
  file: "kind.yaml" | "k3d.yaml",
  {
    context,
    hub,
    ...others
  }: { readonly context: string; readonly hub: string } & Partial<
    Omit<ServerQuestion, "context" | "hub">
  >,
): ServerQuestion {
  const source = { kubeconfig: join(folder, file), environment: {} };
  const clusterOf = (name: string) =>
    accessClusterOf(loadKubeconfig({ ...source, context: name }).cluster, "ca");
  const cluster = clusterOf(context);
  return {
    context,
    cluster,
    addresses: [hostOf(cluster.server)],
    certificateNames: noNames,
    hub: {
      context: hub,
      isLocal: isLoopbackHost(hostOf(clusterOf(hub).server), []),
      hasPods: true,
      allowedServers: [],
    },
    ...others,
  };
}

const elsewhere: ServerQuestion = {
  context: "prod",
  cluster: { server: "https://eu-1.example.com:6443" },
  addresses: ["203.0.113.7"],
  certificateNames: ["DNS:eu-1.example.com"],
  hub: { context: "hub", isLocal: false, hasPods: true, allowedServers: [] },
};

describe("the address for a controller in a pod", () => {
  test.each([
    {
      name: "is the container of a kind cluster beside a hub of kind",
      question: questionOf("kind.yaml", {
        context: "kind-eu-1",
        hub: "kind-hub",
        certificateNames: kindNames,
      }),
      server: "https://eu-1-control-plane:6443",
    },
    {
      name: "is the container of a k3d cluster beside a hub of k3d",
      question: questionOf("k3d.yaml", {
        context: "k3d-eu-1",
        hub: "k3d-hub",
        certificateNames: k3sNames,
      }),
      server: "https://k3d-eu-1-server-0:6443",
    },
    {
      name: "is verified by a name of the certificate where the container is not in it",
      question: questionOf("k3d.yaml", {
        context: "k3d-eu-1",
        hub: "k3d-hub",
        certificateNames: k3sNames.slice(1),
      }),
      server: "https://k3d-eu-1-server-0:6443",
      tlsName: "kubernetes.default.svc",
    },
    {
      name: "is the one that is given",
      question: { ...elsewhere, stated: "https://10.0.0.5:6443" },
      server: "https://10.0.0.5:6443",
      tlsName: "eu-1.example.com",
    },
    {
      name: "is the one that is given for a local cluster, too",
      question: questionOf("kind.yaml", {
        context: "kind-eu-1",
        hub: "kind-hub",
        stated: "https://172.18.0.3:6443",
        certificateNames: [...kindNames, "IP Address:172.18.0.3"],
      }),
      server: "https://172.18.0.3:6443",
    },
    {
      name: "is that of the kubeconfig, with its TLS name",
      question: { ...elsewhere, cluster: { ...elsewhere.cluster, "tls-server-name": "api" } },
      server: "https://eu-1.example.com:6443",
      tlsName: "api",
    },
    {
      name: "is loopback for a controller that is no pod",
      question: {
        ...questionOf("kind.yaml", { context: "kind-eu-1", hub: "kind-hub" }),
        hub: { context: "kind-hub", isLocal: true, hasPods: false, allowedServers: [] },
      },
      server: "https://127.0.0.1:36847",
    },
    {
      name: "is loopback where the provider file allows it",
      question: {
        ...questionOf("kind.yaml", { context: "kind-eu-1", hub: "kind-hub" }),
        hub: { ...elsewhere.hub, allowedServers: ["127.0.0.0/8"] },
      },
      server: "https://127.0.0.1:36847",
    },
    {
      name: "is behind the proxy, which alone resolves the name",
      question: {
        ...elsewhere,
        cluster: { server: "https://localhost:6443", "proxy-url": "http://proxy.example.com:3128" },
      },
      server: "https://localhost:6443",
    },
  ])("$name", ({ question, server, tlsName }) => {
    const found = reachableServer(question);
    expect(found).toMatchObject({ cluster: { server } });
    expect("cluster" in found ? found.cluster["tls-server-name"] : "").toBe(tlsName);
    expect("cluster" in found && found.isOfKubeconfig).toBe(server === question.cluster.server);
  });

  test.each([
    {
      name: "a kind cluster on this machine and a hub elsewhere",
      question: {
        ...questionOf("kind.yaml", { context: "kind-eu-1", hub: "kind-hub" }),
        hub: elsewhere.hub,
      },
      why: /cannot reach https:\/\/127\.0\.0\.1:36847/,
    },
    {
      name: "a k3d cluster beside a hub of kind",
      question: {
        ...questionOf("k3d.yaml", { context: "k3d-eu-1", hub: "k3d-hub" }),
        hub: { context: "kind-hub", isLocal: true, hasPods: true, allowedServers: [] },
      },
      why: /cannot reach https:\/\/0\.0\.0\.0:40123/,
    },
    {
      name: "a name that this machine resolves to itself",
      question: { ...elsewhere, addresses: ["127.0.0.1"] },
      why: /cannot reach/,
    },
    {
      name: "a loopback address that is given",
      question: { ...elsewhere, stated: "https://[::1]:6443" },
      why: /cannot reach https:\/\/\[::1\]:6443/,
    },
    {
      name: "an address that is none",
      question: { ...elsewhere, stated: "10.0.0.5" },
      why: /https/,
    },
    {
      name: "a server without TLS",
      question: { ...elsewhere, cluster: { server: "http://eu-1.example.com" } },
      why: /does not begin with https/,
    },
    {
      name: "a proxy on this machine",
      question: {
        ...elsewhere,
        cluster: { ...elsewhere.cluster, "proxy-url": "http://127.0.0.1:8" },
      },
      why: /proxy .* is on this machine only/,
    },
    {
      name: "a proxy with a login",
      question: {
        ...elsewhere,
        cluster: { ...elsewhere.cluster, "proxy-url": "http://me:secret@proxy.example.com" },
      },
      why: /has a login/,
    },
  ])("is refused: $name", ({ question, why }) => {
    const found = reachableServer(question);
    expect("error" in found ? found.error : "").toMatch(why);
    expect(JSON.stringify(found)).not.toContain("secret@");
  });

  test.each([
    ["https://eu-1:6443", ["10.0.0.5"], 1],
    ["https://eu-1.local:6443", ["10.0.0.5"], 1],
    ["https://eu-1.example.com:6443", [], 1],
    ["https://eu-1.example.com:6443", ["203.0.113.7"], 0],
    ["https://203.0.113.7:6443", ["203.0.113.7"], 0],
  ])("%s, which is %j here, has %i warnings", (server, addresses, count) => {
    const found = reachableServer({ ...elsewhere, cluster: { server }, addresses });
    expect("warnings" in found ? found.warnings : []).toHaveLength(count);
  });
});
