import { describe, expect, test } from "vitest";

import type { KubeObject } from "../../../api/kubernetes.ts";
import { sourceOfCluster } from "../../../controller/discovery/cluster-api-source.ts";
import {
  accessOfSecret,
  secretSelector,
  sourcesOfSecret,
} from "../../../controller/discovery/secret-source.ts";
import type { SourceHealth } from "../../../controller/discovery/source.ts";
import { valueAt } from "../../fleet/json-record.ts";
import { cluster, clusterOf, secretOf, settings } from "./source-objects.ts";

test("Secrets are chosen by the label with the value true, and by the selector", () => {
  const label = `${settings.kubeconfigLabel}=true`;
  expect(secretSelector(settings)).toBe(label);
  expect(secretSelector({ ...settings, selector: "env=prod" })).toBe(`${label},env=prod`);
});

test("a source holds no credential", () => {
  const sources = sourcesOfSecret(secretOf("spoke-1"), settings, Date.now());
  expect(sources).toMatchObject([
    {
      producer: "kubeconfig-secrets",
      identity: "Secret/team-a/spoke-1",
      name: "spoke-1",
      access: { kind: "cluster", cluster },
      secret: { namespace: "team-a", name: "spoke-1", key: "kubeconfig" },
    },
  ]);
  expect(JSON.stringify(sources)).not.toContain("a-secret-token");
});

test.each([
  ["spoke-1", ["spoke-1"]],
  ["spoke-1-kubeconfig", ["spoke-1"]],
  ["-kubeconfig", ["-kubeconfig"]],
])("the profile of Secret %s is named after its cluster", (name, names) => {
  expect(sourcesOfSecret(secretOf(name), settings, Date.now()).map((one) => one.name)).toEqual(
    names,
  );
});

test("the credential of a Secret that is being deleted is used no more, and its clusters keep their names", () => {
  const deletionTimestamp = "2026-11-02T00:00:00Z";
  const secret = secretOf("spoke-1");
  const gone = { ...secret, metadata: { ...secret.metadata, deletionTimestamp } };
  const [before, after] = [secret, gone].map((one) => sourcesOfSecret(one, settings, Date.now()));
  expect(before).toMatchObject([{ name: "spoke-1", access: { kind: "cluster" } }]);
  const is = { kind: "missing", why: "is being deleted" };
  expect(after).toMatchObject([{ name: "spoke-1", access: is }]);
  expect(after?.map(({ identity }) => identity)).toEqual(before?.map(({ identity }) => identity));
  expect(accessOfSecret(gone, "kubeconfig", Date.now())).toEqual(is);
  // Its keys are no longer worth a word: there is nothing to put right.
  expect(sourcesOfSecret({ ...gone, data: {} }, settings, Date.now())).toMatchObject([
    { name: "spoke-1", access: is },
  ]);
});

test("labels are copied but for those that say how the source is managed", () => {
  const labels = {
    [settings.kubeconfigLabel]: "true",
    region: "eu",
    "example.com/tier": "prod",
    "topology.kubernetes.io/zone": "a",
    "kubernetes.io/metadata.name": "x",
    "app.kubernetes.io/managed-by": "Helm",
    "helm.sh/chart": "x",
    "argocd.argoproj.io/instance": "fleet",
    "kustomize.toolkit.fluxcd.io/name": "fleet",
    "helm.toolkit.fluxcd.io/name": "fleet",
  };
  const [source] = sourcesOfSecret(
    secretOf("spoke-1", { metadata: { labels } }),
    settings,
    Date.now(),
  );
  expect(source?.labels).toEqual({
    region: "eu",
    "example.com/tier": "prod",
    "topology.kubernetes.io/zone": "a",
  });
});

test("properties come from annotations", () => {
  const annotations = {
    "knfleet.dev/property.gpu": "yes",
    "knfleet.dev/property.": "x",
    "knfleet.dev/property.none": "",
    "knfleet.dev/property.long": "x".repeat(2_000),
    "knfleet.dev/property.lie": "a\u001b[31m\u009b\u202eb",
    "knfleet.dev/property.lines": " two\n\tlines \n",
    other: "x",
  };
  const [source] = sourcesOfSecret(
    secretOf("spoke-1", { metadata: { annotations } }),
    settings,
    Date.now(),
  );
  expect(source?.properties).toEqual({
    gpu: "yes",
    long: "x".repeat(1_024),
    lie: "a [31m  b",
    lines: " two\n\tlines \n",
  });
});

test("labels that others believe are not copied, of a Secret or a Cluster", () => {
  const kept = {
    region: "eu",
    "myx-k8s.io/a": "b",
    "open-cluster-management.io.example.com/a": "b",
  };
  const labels = {
    ...kept,
    "open-cluster-management.io/cluster-name": "prod-eu",
    "cluster.open-cluster-management.io/clusterset": "prod",
    "x-k8s.io/cluster-manager": "open-cluster-management",
    "multicluster.x-k8s.io/clusterset": "prod",
    "cluster.x-k8s.io/cluster-name": "other",
    "topology.cluster.x-k8s.io/owned": "",
    "knfleet.dev/set": "prod",
    "sets.knfleet.dev/stage": "canary",
  };
  const secret = secretOf("spoke-1", { metadata: { labels } });
  expect(sourcesOfSecret(secret, settings, Date.now())).toMatchObject([{ name: "spoke-1" }]);
  expect(sourcesOfSecret(secret, settings, Date.now())[0]?.labels).toEqual(kept);
  expect(sourceOfCluster(clusterOf("prod", { spec: {} }, { labels })).labels).toEqual({
    ...kept,
    "cluster.x-k8s.io/cluster-name": "prod",
  });
});

test.each<[string, KubeObject, string]>([
  ["a program", secretOf("s", { user: { exec: { command: "x" } } }), "refused"],
  ["no kubeconfig", { ...secretOf("s"), data: {} }, "missing"],
  ["a broken kubeconfig", secretOf("s", { kubeconfig: { contexts: "none" } }), "refused"],
])("a Secret with %s is a source without access", (_what, secret, kind) => {
  expect(sourcesOfSecret(secret, settings, Date.now())).toMatchObject([
    { name: "s", access: { kind } },
  ]);
});

describe("a Secret with its kubeconfig under another key", () => {
  const { data, ...rest } = secretOf("kubeadm");
  const kubeconfig = valueAt(data, "kubeconfig");
  const withData = (more: object, annotations: Readonly<Record<string, string>> = {}) => ({
    ...rest,
    metadata: { ...rest.metadata, annotations },
    data: { ...more },
  });

  test("names the key with an annotation, also for the reader", () => {
    const secret = withData(
      { "admin.conf": kubeconfig },
      { "knfleet.dev/kubeconfig-key": "admin.conf" },
    );
    expect(sourcesOfSecret(secret, settings, Date.now())).toMatchObject([
      { name: "kubeadm", secret: { key: "admin.conf" }, access: { kind: "cluster" } },
    ]);
  });

  test("without the annotation is told which keys there are", () => {
    const [source] = sourcesOfSecret(
      withData({ "super-admin.conf": "canary", "admin.conf": kubeconfig }),
      settings,
      Date.now(),
    );
    expect(source?.access).toEqual({
      kind: "missing",
      why: "does not exist: the Secret has the keys admin.conf, super-admin.conf, and its annotation knfleet.dev/kubeconfig-key can name one",
    });
  });

  test("without any key, or with very many, is told so in short", () => {
    const many = Object.fromEntries(
      Array.from({ length: 100 }, (_, at) => [`${"k".repeat(200)}${at}`, "canary"]),
    );
    const [none, all] = [{}, many].map(
      (keys) => sourcesOfSecret(withData(keys), settings, Date.now())[0],
    );
    expect(valueAt(none?.access, "why")).toContain("the Secret has no keys");
    expect(valueAt(all?.access, "why")).toMatch(/^.{1,700} and 92 more, and its annotation/);
  });

  test("an empty annotation names nothing", () => {
    const secret = withData({ kubeconfig }, { "knfleet.dev/kubeconfig-key": "" });
    expect(sourcesOfSecret(secret, settings, Date.now())).toMatchObject([
      { secret: { key: "kubeconfig" }, access: { kind: "cluster" } },
    ]);
  });
});

test("the Secrets of Cluster API belong to its producer, if that runs", () => {
  const secret = secretOf("spoke-1-kubeconfig", { type: "cluster.x-k8s.io/secret" });
  expect(sourcesOfSecret(secret, settings, Date.now())).toEqual([]);
  const alone = { ...settings, producers: ["kubeconfig-secrets"] } as const;
  expect(sourcesOfSecret(secret, alone, Date.now())).toMatchObject([{ name: "spoke-1" }]);
});

test("a Cluster of Cluster API names Secret, version and infrastructure", () => {
  const spec = {
    topology: { version: "v1.36.1" },
    infrastructureRef: { kind: "DockerCluster", name: "prod" },
  };
  const metadata = { labels: { env: "prod" }, annotations: { "knfleet.dev/property.gpu": "no" } };
  expect(sourceOfCluster(clusterOf("prod", { spec }, metadata))).toMatchObject({
    producer: "cluster-api",
    identity: "Cluster/team-a/prod",
    name: "prod",
    labels: { env: "prod", "cluster.x-k8s.io/cluster-name": "prod" },
    properties: { gpu: "no", "cluster.x-k8s.io/infrastructure-kind": "DockerCluster" },
    secret: { namespace: "team-a", name: "prod-kubeconfig", key: "value" },
    access: { kind: "unread" },
    kubernetes: "v1.36.1",
  });
});

const [older, probe, plane] = ["v1beta1", "RemoteConnectionProbe", "ControlPlaneAvailable"];
const conditionsOf = (
  ...conditions: readonly (readonly [string | undefined, string, string?])[]
) => ({
  conditions: conditions.map(([type, status, reason = "Why"]) => ({ type, status, reason })),
});

test.each<{
  readonly name: string;
  readonly version?: string | undefined;
  readonly status?: object;
  readonly deleted?: boolean;
  readonly health: Partial<SourceHealth>;
}>([
  { name: "without a status", health: { status: "False", reason: "NotInitialized" } },
  {
    name: "that is initialized",
    status: { initialization: { controlPlaneInitialized: true } },
    health: { status: "True", reason: "Ready" },
  },
  {
    name: "that answers its probe",
    status: conditionsOf([probe, "True"], [plane, "True"], ["Available", "False"]),
    health: { status: "True" },
  },
  {
    name: "that does not answer its probe",
    status: conditionsOf([plane, "True"], [probe, "False", "ProbeFailed"]),
    health: { status: "False", reason: "ProbeFailed" },
  },
  {
    name: "whose control plane is not known",
    status: conditionsOf([plane, "Unknown", "InternalError"], [probe, "True"]),
    health: { status: "Unknown", reason: "InternalError" },
  },
  {
    name: "with a reason that is none",
    status: conditionsOf([plane, "False", ""]),
    health: { status: "False", reason: "NotReady" },
  },
  {
    name: "that is being deleted",
    deleted: true,
    status: conditionsOf([probe, "True"]),
    health: { status: "False", reason: "ClusterDeleting" },
  },
  { name: "without a status", version: older, health: { reason: "NotInitialized" } },
  {
    name: "with an older condition",
    version: older,
    status: conditionsOf(["ControlPlaneInitialized", "True"]),
    health: { status: "True" },
  },
  {
    name: "with an older field",
    version: older,
    status: { controlPlaneReady: true },
    health: { status: "True" },
  },
  {
    name: "with the newer conditions",
    version: older,
    status: { controlPlaneReady: true, v1beta2: conditionsOf([probe, "False", "ProbeFailed"]) },
    health: { status: "False", reason: "ProbeFailed" },
  },
])(
  "a Cluster $name ($version) has a health",
  ({ version = "v1beta2", status, deleted, health }) => {
    const metadata = deleted === true ? { deletionTimestamp: "2026-11-02T00:00:00Z" } : {};
    const apiVersion = `cluster.x-k8s.io/${version}`;
    const object = {
      ...clusterOf("prod", status === undefined ? {} : { status }, metadata),
      apiVersion,
    };
    expect(sourceOfCluster(object).health).toMatchObject(health);
  },
);
