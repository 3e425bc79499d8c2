import { execFile } from "node:child_process";
import { promisify } from "node:util";

import { beforeAll, describe, expect, test } from "vitest";

import { operatorApiVersion } from "../../../api/component.ts";
import type { KubeObject, Manifest } from "../../../api/kubernetes.ts";
import { crdNameOf } from "../../../api/schema/component-crd.ts";
import { componentCheck } from "../../../cmd/kubectl/selection/component-documents.ts";
import type { AdminClient } from "../../fleet/admin-client.ts";
import { ensureBinaries } from "../../fleet/binaries.ts";
import { conditionOf } from "../../fleet/json-record.ts";
import { useFleet } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { eventing, serving } from "../../render/components.ts";
import { componentOf } from "../../vectors/render-case.ts";
import { renderVectors } from "../../vectors/render-cases.ts";

// The fleet installs the CRDs of the chart on its hub.
const fleet = useFleet({ spokes: 0 });
const kinds = ["KnativeServing", "KnativeEventing"] as const;
const namespace = "crd-test";
const check = componentCheck();
/** Some that only ours accept. */
const samples = [
  { name: "no spec", kind: "KnativeServing", spec: undefined },
  {
    name: "one source alone (D-42)",
    kind: "KnativeEventing",
    spec: eventing({ source: { kafka: { enabled: true } } }).spec,
  },
  {
    name: "the documented name of the namespace's settings",
    kind: "KnativeServing",
    spec: serving({ namespaceConfiguration: { labels: { a: "b" }, annotations: { c: "d" } } }).spec,
  },
] as const;

let admin: AdminClient;

beforeAll(async () => {
  ({ admin } = fleet().hub);
  await admin.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
});

function manifest(kind: string, name: string, spec: unknown): Manifest {
  const metadata = { name, namespace };
  return {
    apiVersion: operatorApiVersion,
    kind,
    metadata,
    ...(spec === undefined ? {} : { spec }),
  };
}

/** Creates a component and removes it; the spec that the API server kept. */
async function specKept(kind: string, spec: unknown): Promise<unknown> {
  const created = await admin.create(manifest(kind, "sample", spec));
  await admin.remove({ apiVersion: operatorApiVersion, kind, namespace, name: "sample" });
  return created["spec"];
}

const key = (name: string) =>
  ({ apiVersion: operatorApiVersion, kind: "KnativeServing", namespace, name }) as const;

describe("a real API server", () => {
  test.each(kinds)("accepts the CRD of %s as structural", async (kind) => {
    const crd = await waitFor("the CRD to be established", async () => {
      const found = await admin.get({
        apiVersion: "apiextensions.k8s.io/v1",
        kind: "CustomResourceDefinition",
        name: crdNameOf(kind),
      });
      return found !== undefined && conditionOf(found, "Established")?.status === "True"
        ? found
        : undefined;
    });
    expect(conditionOf(crd, "NamesAccepted")?.status).toBe("True");
    expect(conditionOf(crd, "NonStructuralSchema")).toBeUndefined();
  });

  test.each(samples)("accepts and keeps $name", async ({ kind, spec }) => {
    expect(await specKept(kind, spec)).toEqual(spec);
  });

  test(
    "accepts and keeps every spec that upstream's CRDs were seen to accept",
    { tags: ["recordings"] },
    async () => {
      const { cases = [] } = (await renderVectors()) ?? {};
      expect(cases.length).toBeGreaterThan(20);
      for (const one of cases) {
        const { kind, spec } = await componentOf(one, check);
        const kept = { name: one.name, spec: await specKept(kind, spec) };
        expect(kept).toEqual({ name: one.name, spec });
      }
    },
  );

  test.each([
    { name: "a reference without a namespace", spec: { clusterProfileRef: { name: "a" } } },
    {
      name: "an empty name in a reference",
      spec: { clusterProfileRef: { name: "", namespace: "b" } },
    },
    { name: "a number as a version", spec: { version: 1.23 } },
    { name: "a workload without a name", spec: { workloads: [{ replicas: 1 }] } },
    {
      name: "a quantity that is none",
      spec: {
        workloads: [{ name: "a", resources: [{ container: "b", limits: { cpu: "much" } }] }],
      },
    },
  ])("refuses $name", async ({ spec }) => {
    await expect(admin.create(manifest("KnativeServing", "refused", spec))).rejects.toMatchObject({
      status: 422,
    });
  });
});

describe("spec.clusterProfileRef", () => {
  const ref = { name: "spoke", namespace: "fleet" };
  const addedOrRemoved = "spec.clusterProfileRef cannot be added or removed after creation";
  const immutable = "spec.clusterProfileRef is immutable";

  test.each([
    {
      name: "added",
      before: { version: "1" },
      patch: { spec: { clusterProfileRef: ref } },
      text: addedOrRemoved,
    },
    {
      name: "added with a first spec",
      before: undefined,
      patch: { spec: { clusterProfileRef: ref } },
      text: addedOrRemoved,
    },
    {
      name: "removed",
      before: { clusterProfileRef: ref },
      patch: { spec: { clusterProfileRef: null } },
      text: addedOrRemoved,
    },
    {
      name: "removed with the whole spec (D-44)",
      before: { clusterProfileRef: ref },
      patch: { spec: null },
      text: addedOrRemoved,
    },
    {
      name: "changed",
      before: { clusterProfileRef: ref },
      patch: { spec: { clusterProfileRef: { name: "other" } } },
      text: immutable,
    },
  ])("cannot be $name", async ({ before, patch, text }) => {
    await admin.create(manifest("KnativeServing", "fixed", before));
    const change = admin.patch(key("fixed"), patch);
    await expect(change).rejects.toMatchObject({
      status: 422,
      message: expect.stringContaining(text),
    });
    await admin.remove(key("fixed"));
  });

  test("may stay while everything else changes", async () => {
    await admin.create(manifest("KnativeServing", "free", { clusterProfileRef: ref }));
    const changed: KubeObject = await admin.patch(key("free"), { spec: { version: "1.23" } });
    expect(changed["spec"]).toEqual({ clusterProfileRef: ref, version: "1.23" });
    const status = { version: "1.23.0", conditions: [{ type: "Ready", status: "True" }] };
    const reported = await admin.patch(key("free"), { status }, { subresource: "status" });
    expect(reported["status"]).toEqual(status);
  });
});

test("kubectl shows the columns and explains the fields", async () => {
  const binaries = await ensureBinaries(["kubectl"]);
  const { adminKubeconfigPath } = fleet().hub;
  const kubectl = async (...args: string[]): Promise<string> => {
    const flags = ["--kubeconfig", adminKubeconfigPath, ...args];
    return (await promisify(execFile)(binaries("kubectl"), flags)).stdout;
  };
  const conditions = [{ type: "Ready", status: "False", reason: "NotReady" }];
  await admin.create(
    manifest("KnativeServing", "shown", {
      clusterProfileRef: { name: "spoke", namespace: "fleet" },
    }),
  );
  await admin.patch(
    key("shown"),
    { status: { version: "1.23.0", conditions } },
    { subresource: "status" },
  );
  const table = await kubectl("get", "knativeservings", "shown", "-n", namespace);
  expect(table).toMatch(/^NAME +VERSION +READY +REASON +TARGET CLUSTER +AGE\n/);
  expect(table).toMatch(/^shown +1\.23\.0 +False +NotReady +spoke +\d+s\n$/m);
  const text = await kubectl("explain", "knativeserving.spec.ingress.kourier.service-type");
  expect(text).toContain("Type of Kourier's Service");
});
