// Servers of its own: the API server reaches the pod of a Service through an egress proxy.
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { connectHub, type HubConnection } from "../../../access/hub/hub.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { allowedSourceOf } from "../../../access/urls/allowed-source.ts";
import { CheckSource } from "../../../access/urls/check-source.ts";
import type { CheckSpec } from "../../../api/fleet-set.ts";
import { keyOf, type Manifest } from "../../../api/kubernetes.ts";
import { ask } from "../../../controller/verify/ask.ts";
import type { Reply } from "../../../sets/check-answer.ts";
import { checksOf } from "../../../sets/verify.ts";
import { createAuthority } from "../../fleet/certificates.ts";
import type { Cluster } from "../../fleet/fleet.ts";
import { type Prometheus, startPrometheus } from "../../fleet/prometheus.ts";
import { useSpokes } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { MemoryHub } from "../../support/memory-hub.ts";
import { about } from "./about.ts";

const spokes = useSpokes([{ name: "spoke-1", kwok: false, egress: true }]);
const authority = createAuthority("monitoring");
const identity = authority.issue({ commonName: "thanos", usage: "server", hosts: ["127.0.0.1"] });
const namespace = "monitoring";
const podAddress = "10.255.0.9";

const opened = new AsyncDisposableStack();
let inCluster: Prometheus;
let central: Prometheus;
let spoke: HubConnection;

beforeAll(async () => {
  const cluster = spokes().spoke(0);
  inCluster = opened.use(await startPrometheus());
  central = opened.use(await startPrometheus(identity));
  await cluster.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  await playPrometheus(cluster, inCluster.port);
  spoke = opened.use(await connectAsHub(cluster));
  await waitFor("two scrapes", async () => {
    const replies = await Promise.all(asked({ query: "count_over_time(up[1m])", min: 2 }));
    const [why] = replies.map(({ message }) => message).filter(Boolean);
    if (why !== undefined) throw new Error(why);
    return true;
  });
}, 1_800_000);

afterAll(() => opened.disposeAsync());

/** A Service with one pod, behind whose address is a port of this machine: the spoke has no kubelet. */
async function playPrometheus({ admin, egress }: Cluster, port: number): Promise<void> {
  const metadata = { namespace, name: "prometheus" };
  const pod: Manifest = {
    apiVersion: "v1",
    kind: "Pod",
    metadata,
    spec: { containers: [{ name: "prometheus", image: "prometheus" }] },
  };
  await admin.apply({
    apiVersion: "v1",
    kind: "Service",
    metadata,
    spec: { ports: [{ port: 9090 }] },
  });
  await waitFor("the pod", () => admin.apply(pod).catch(() => undefined));
  const podIPs = [{ ip: podAddress }];
  await admin.patch(keyOf(pod), { status: { podIPs } }, { subresource: "status" });
  const targetRef = { kind: "Pod", ...metadata };
  const subsets = [{ addresses: [{ ip: podAddress, targetRef }], ports: [{ port: 9090 }] }];
  await admin.apply({ apiVersion: "v1", kind: "Endpoints", metadata, subsets });
  egress?.route(podAddress, port);
}

/** With the rights that docs/sets.md tells a cluster to give. */
async function connectAsHub(cluster: Cluster): Promise<HubConnection> {
  const rule = { apiGroups: [""], resources: ["services/proxy"], verbs: ["get"] };
  const identityOfHub = await cluster.serviceAccountToken({
    namespace,
    name: "hub",
    namespaceRules: [{ ...rule, resourceNames: ["http:prometheus:9090"] }],
  });
  const kubeconfig = await cluster.writeKubeconfig("hub-of-checks", { identity: identityOfHub });
  return await connectHub({
    clock: systemClock,
    kubeconfig,
    environment: {},
    userAgent: "knfleet-test",
  });
}

type Question = Pick<NonNullable<CheckSpec["prometheus"]>, "query" | "min" | "max">;

/** The replies to a question through the API server of the spoke, and by URL. */
function asked(question: Question, name = "prometheus"): readonly Promise<Reply>[] {
  const url = `https://127.0.0.1:${central.port}/`;
  const service = { namespace, name, port: 9090, scheme: "http" } as const;
  const caBundle = Buffer.from(authority.certificatePem).toString("base64");
  const sources = [allowedSourceOf(url)].filter((one) => one !== undefined);
  const source = new CheckSource({ sources, userAgent: "knfleet-test" });
  const asker = {
    clientOf: () => Promise.resolve(spoke.client),
    urls: { hub: new MemoryHub(), source },
  };
  return [{ service }, { url, caBundle }].map((server) => {
    const prometheus = { ...server, ...question };
    const spec = { checks: [{ name: "rate", noData: "Fail", prometheus } as const] };
    const [check] = checksOf(spec);
    if (check === undefined) throw new Error("There is one check");
    return ask(check, about("fleet/eu-1", spec), asker, AbortSignal.timeout(20_000));
  });
}

const requests = "prometheus_http_requests_total";
const failing = `sum(rate(${requests}{code="500"}[1m]))`;
const all = `sum(rate(${requests}[1m]))`;
const good = { kind: "good", message: "" };
const noNumber = { kind: "unasked", message: "the query gives no number" };

describe("a real Prometheus, asked through the API server of a spoke and by URL, answers", () => {
  test.each<[what: string, question: Question, reply: object]>([
    ["a scalar", { query: "1 / 4", max: 0.25 }, good],
    ["a vector", { query: `sum(up)`, min: 1 }, good],
    [
      "a vector above the limit",
      { query: "sum(up) * 2", max: 1 },
      { kind: "bad", message: "the query gives 2, more than 1" },
    ],
    [
      "an infinite number",
      { query: "1 / 0", max: 1 },
      { kind: "bad", message: "the query gives Infinity, more than 1" },
    ],
    ["a scalar that is not a number", { query: "0 / 0", max: 1 }, noNumber],
    ["a vector that is not a number", { query: "sum(up) * 0 / 0", max: 1 }, noNumber],
    ["nothing, for a series that is missing", { query: `${failing} / ${all}`, max: 1 }, noNumber],
    [
      "a number, where a missing series counts as 0",
      { query: `(${failing} or vector(0)) / ${all}`, max: 0 },
      good,
    ],
    [
      "many series",
      { query: "up or prometheus_build_info", max: 1 },
      { kind: "unasked", message: "the query gives 2 numbers, and has to give one" },
    ],
    [
      "a range",
      { query: "up[1m]", max: 1 },
      { kind: "unasked", message: "the query has to give one number, and not a range or a text" },
    ],
    [
      "that a query cannot be read",
      { query: "sum(up", max: 1 },
      { kind: "unasked", message: expect.stringContaining("unclosed left parenthesis") },
    ],
    [
      "that a query cannot be evaluated",
      { query: "vector(1) * on() (up or prometheus_build_info)", max: 1 },
      { kind: "unasked", message: expect.stringContaining("duplicate series") },
    ],
  ])("%s", async (_, question, reply) => {
    expect(await Promise.all(asked(question))).toEqual([reply, reply]);
  });

  test("nothing for another Service, which the right does not cover", async () => {
    const [throughSpoke] = asked({ query: "up", max: 1 }, "grafana");
    expect(await throughSpoke).toEqual({
      kind: "unasked",
      message: expect.stringContaining("The right to get services/proxy"),
    });
  });
});
