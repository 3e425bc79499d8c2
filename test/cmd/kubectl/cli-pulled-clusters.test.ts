import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { clusterProfileApiVersion } from "../../../api/cluster-profile.ts";
import { operatorApiVersion } from "../../../api/component.ts";
import {
  componentWorkName,
  managedClusterAnnotation,
  managedClusterApiVersion,
  managedClusterLabel,
  type ManifestWork,
  workApiVersion,
} from "../../../api/delivery.ts";
import type { KubeObject, Manifest } from "../../../api/kubernetes.ts";
import { agentWork } from "../../../controller/pull/works.ts";
import { component } from "./fleet-facts.ts";
import { runText } from "./run-text.ts";
import { type Answer, startStubHub } from "./stub-hub.ts";

const cluster = "eu-1";
const told = (type: string, status: string, why?: readonly [reason: string, message: string]) => [
  value(`${type}.status`, status),
  ...(why === undefined ? [] : [value(`${type}.reason`, why[0]), value(`${type}.message`, why[1])]),
];
const notReady = ["DeploymentsNotReady", "Not available: controller"] as const;
// As the controller writes it: in upstream's words.
const unavailable =
  "Install failed with message: the manifests of the target version 1.99.0 are not available to this release";
const value = (name: string, string: string) => ({ name, fieldValue: { string } });
const count = (name: string, integer: number) => ({ name, fieldValue: { integer } });

function stored(manifest: Manifest, more: object = {}): KubeObject {
  const { metadata, ...others } = manifest;
  const { name = "" } = metadata;
  return {
    ...others,
    metadata: { ...metadata, name, uid: name, resourceVersion: "1", generation: 2 },
    ...more,
  };
}

const applied = { type: "Applied", status: "True", observedGeneration: 2 };

function workStatus(values: readonly object[], conditions: readonly object[] = [applied]) {
  return {
    status: {
      conditions,
      resourceStatus: {
        manifests: [
          { conditions: [{ type: "Applied", status: "True" }], statusFeedback: { values } },
        ],
      },
    },
  };
}

const pulled = component({ cluster });
const labels = { "knfleet.dev/component-uid": pulled.metadata.uid };
const serving: KubeObject = {
  ...pulled,
  metadata: {
    ...pulled.metadata,
    generation: 3,
    annotations: { [managedClusterAnnotation]: cluster },
  },
};

const profile = stored({
  apiVersion: clusterProfileApiVersion,
  kind: "ClusterProfile",
  metadata: { namespace: "fleet", name: cluster, labels: { [managedClusterLabel]: cluster } },
  status: { conditions: [{ type: "ControlPlaneHealthy", status: "True", reason: "Available" }] },
});

const lease = stored({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { namespace: cluster, name: "managed-cluster-lease" },
  spec: { renewTime: "2026-11-21T11:59:48.000000Z" },
});

const managed = (status: string, spec: object = { hubAcceptsClient: true }) =>
  stored({
    apiVersion: managedClusterApiVersion,
    kind: "ManagedCluster",
    metadata: { name: cluster },
    spec,
    status: {
      conditions: [
        {
          type: "ManagedClusterConditionAvailable",
          status,
          lastTransitionTime: "2026-11-21T11:50:00Z",
        },
      ],
    },
  });

const agent = stored(
  agentWork(cluster, "registry.example.com/knfleet:v0.1.0"),
  workStatus([count("available", 1)]),
);

const fine = [
  value("hubGeneration", "3"),
  count("generation", 1),
  count("observed", 1),
  value("version", "1.23.0"),
  ...told("VersionMigrationEligible", "True"),
  ...told("InstallSucceeded", "True"),
];
const ready = [
  ...fine,
  ...told("DeploymentsAvailable", "True"),
  ...told("DependenciesInstalled", "True"),
];

const work = (values: readonly object[], conditions?: readonly object[]): KubeObject =>
  stored(
    {
      apiVersion: workApiVersion,
      kind: "ManifestWork",
      metadata: { namespace: cluster, name: componentWorkName(pulled), labels },
    },
    workStatus(values, conditions),
  );

const healthy = [serving, profile, lease, managed("True"), agent, work(ready)];

let folder: string;
let providerFile: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-pulled-"));
  providerFile = join(folder, "providers.json");
  const providers = [
    {
      name: "secretreader",
      execConfig: { command: "/bin/false", apiVersion: "client.authentication.k8s.io/v1" },
    },
  ];
  await writeFile(providerFile, JSON.stringify({ providers }), { mode: 0o600 });
});

afterAll(() => rm(folder, { recursive: true }));

/** What diagnose asks of every hub. */
const answer: Answer = ({ path }) => {
  if (path.endsWith("/selfsubjectreviews")) {
    return { body: { status: { userInfo: { username: "jane" } } } };
  }
  return path === `/apis/${operatorApiVersion}` ? { body: {} } : undefined;
};

async function run(objects: readonly KubeObject[], ...args: readonly string[]) {
  await using hub = await startStubHub(objects, answer);
  const env = { ...hub.env, KNFLEET_PROVIDER_FILE: providerFile };
  return await runText(args, { env });
}

const live = async (objects: readonly KubeObject[]): Promise<unknown> => {
  const { stdout } = await run(objects, "status", "-A", "-o", "json");
  return JSON.parse(stdout).items[0].live;
};

describe("the state of a cluster that pulls and cannot be dialled", () => {
  test("is what its controller told the hub, and not older than the last report", async () => {
    const { stdout, exitCode } = await run(healthy, "status", "-A", "--fail-on=never");
    expect(stdout).toMatch(/ Ready \(feedback\) /);
    expect(exitCode).toBe(0);
    const detail = await run(healthy, "status", "ks/knative-serving", "-n", "team-a");
    expect(detail.stdout).toContain("Feedback: ManagedCluster eu-1, last report 12s\n");
    expect(detail.stdout).toContain("Anchor: <unknown> (PullOnly)");
  });

  test.each<[string, readonly KubeObject[], object]>([
    [
      "what is not ready, with the reason of its controller",
      [managed("True"), agent, work([...fine, ...told("DeploymentsAvailable", "False", notReady)])],
      { state: "NotAvailable", reason: "DeploymentsNotReady", code: "KNF6009" },
    ],
    [
      "a version that its controller does not have",
      [
        managed("True"),
        agent,
        work([...fine.slice(0, -1), ...told("InstallSucceeded", "False", ["Error", unavailable])]),
      ],
      { state: "NotInstalled", reason: "ReleaseNotFound", code: "KNF1016" },
    ],
    [
      "an agent that does not report",
      [managed("Unknown"), agent, work(ready)],
      {
        state: "Unreachable",
        reason: "Unreachable",
        message: expect.stringContaining("2026-11-21T11:50:00Z"),
      },
    ],
    [
      "a ManagedCluster that does not exist",
      [agent, work(ready)],
      { state: "NoAccess", reason: "NotManagedByOCM", code: "KNF2009" },
    ],
    [
      "a spec that has not come there",
      [managed("True"), agent, work([...ready.slice(1), value("hubGeneration", "2")])],
      { state: "NotInstalled", reason: "NotInstalled" },
    ],
  ])("tells %s", async (_, objects, expected) => {
    const heardAt = "2026-11-21T11:59:48.000000Z";
    expect(await live([serving, profile, lease, ...objects])).toMatchObject({
      ...expected,
      feedback: { cluster, heardAt },
    });
  });

  test("is asked of nobody for a component that is pushed", async () => {
    const { annotations: _, ...metadata } = serving.metadata;
    expect(await live([{ ...serving, metadata }, profile])).toMatchObject({
      state: "NoAccess",
      feedback: null,
    });
  });
});

describe("a command that needs the cluster itself", () => {
  test.each([
    ["deployments", "-A"],
    ["logs", "ks/knative-serving", "-n", "team-a", "--cluster=eu-1"],
    ["get", "pods", "-A"],
    ["diff", "ks/knative-serving", "-n", "team-a"],
  ])("says PullOnly: %s", async (...args) => {
    const { stderr, exitCode } = await run(healthy, ...args);
    expect(stderr).toContain("PullOnly");
    expect(exitCode).not.toBe(0);
  });

  test("says PullOnly: connect", async () => {
    const { stderr } = await run(healthy, "connect", "fleet/eu-1");
    expect(stderr).toMatch(/fleet\/eu-1: NoAccess PullOnly: /);
  });
});

/** The steps of diagnose from the works on: id, state and code. */
async function steps(objects: readonly KubeObject[]): Promise<readonly string[]> {
  const { stdout } = await run(
    objects,
    "diagnose",
    "ks/knative-serving",
    "-n",
    "team-a",
    "-o",
    "json",
  );
  const hops: { id: string; state: string; code: string | null }[] =
    JSON.parse(stdout).items[0].hops;
  const from = hops.findIndex(({ id }) => id === "work");
  return hops.slice(from).map(({ id, state, code }) => [id, state, code ?? ""].join(" ").trim());
}

describe("diagnose of a component that is pulled", () => {
  test("walks along its works, and ends where the hub has no way", async () => {
    expect(await steps(healthy)).toEqual([
      "work OK",
      "accepted OK",
      "applied OK",
      "feedback OK",
      "provider SKIPPED",
      "conditions OK",
    ]);
  });

  const message = 'a is forbidden: User "w" cannot patch resource "a" in API group ""';
  const forbidden: ManifestWork["status"] = {
    conditions: [{ type: "Applied", status: "False" }],
    resourceStatus: {
      manifests: [
        {
          resourceMeta: { kind: "KnativeServing", name: "knative-serving" },
          conditions: [{ type: "Applied", status: "False", message }],
        },
      ],
    },
  };

  test.each<[string, readonly KubeObject[], string]>([
    ["no work", [managed("True"), agent], "work FAIL KNF2010"],
    [
      "a cluster that is not accepted",
      [managed("True", {}), agent, work(ready)],
      "accepted FAIL KNF2009",
    ],
    [
      "an agent that does not report",
      [managed("Unknown"), agent, work(ready)],
      "accepted FAIL KNF2019",
    ],
    [
      "a right that the work agent lacks",
      [managed("True"), agent, { ...work([]), status: forbidden }],
      "applied FAIL KNF5005",
    ],
    [
      "a work whose change is not applied yet",
      [managed("True"), agent, work(ready, [{ ...applied, observedGeneration: 1 }])],
      "applied WARN KNF6008",
    ],
    [
      "what its controller complains of",
      [managed("True"), agent, work([...fine, ...told("DeploymentsAvailable", "False", notReady)])],
      "feedback FAIL KNF6009",
    ],
  ])("finds %s", async (_, objects, step) => {
    expect(await steps([serving, profile, lease, ...objects])).toContain(step);
  });
});

test("version tells the version of the agents, by the image of their works", async () => {
  const { stdout } = await run(healthy, "version", "--no-live");
  expect(stdout).toContain("Agent Version: 0.1.0 (1 cluster)\n");
});

test("check does not want to reach it", async () => {
  const { stdout } = await run(healthy, "check", "-o", "json");
  const items: { check: string; state: string; code: string | null }[] = JSON.parse(stdout).items;
  expect(items.find(({ check }) => check === "reachable")).toMatchObject({
    state: "SKIPPED",
    code: "KNF2011",
  });
});
