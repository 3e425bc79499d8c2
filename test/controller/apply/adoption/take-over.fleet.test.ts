import { describe, expect, test } from "vitest";

import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import { keyOf, type KubeObject, type ObjectKey } from "../../../../api/kubernetes.ts";
import { readAnchor } from "../../../../controller/apply/anchor/anchor.ts";
import { AdminError } from "../../../fleet/admin-client.ts";
import { isRecord, valueAt } from "../../../fleet/json-record.ts";
import { useSpokes } from "../../../fleet/use-fleet.ts";
import { waitFor } from "../../../fleet/wait-for.ts";
import { eventing, type Installer, openInstaller } from "../installer.ts";
import { port, probe, renderedOf, serviceOf, variable, workload } from "../small-set.ts";
import { sentTo } from "../spoke-view.ts";

const fleet = useSpokes([{ kwok: false }]);

interface Changeable {
  metadata: { labels?: Record<string, string>; ownerReferences?: object[] };
  spec: {
    ports: object[];
    template: { spec: { containers: Record<string, unknown>[]; volumes: object[] } };
  };
}

/** Writes a whole object, as a tool does that knows no server-side apply, with a label besides. */
async function put(key: ObjectKey, collection: string, change: (copy: Changeable) => void) {
  const { admin } = fleet().spoke(0);
  const path = `${collection.replace("NS", key.namespace ?? "")}/${key.name}`;
  await waitFor("the change to be written", async () => {
    const copy: Changeable = JSON.parse(JSON.stringify(await admin.get(key)));
    copy.metadata.labels = { ...copy.metadata.labels, theirs: "kept" };
    change(copy);
    try {
      await admin.request("PUT", `${path}?fieldManager=kubectl-edit`, copy);
      return true;
    } catch (error) {
      // The cluster's own controllers write it, too.
      if (error instanceof AdminError && error.status === 409) return false;
      throw error;
    }
  });
}

function ownedBy(object: KubeObject | undefined, manager: string): unknown {
  return object?.metadata.managedFields?.find((entry) => entry.manager === manager)?.fieldsV1;
}

/** Repairs what was changed as soon as the watch tells of it, and gives the codes of the patches that it took. */
async function repair(installer: Installer, key: ObjectKey): Promise<string> {
  const { namespace = "" } = key;
  const rendered = renderedOf(workload(namespace), serviceOf(namespace));
  const since = new Date();
  await waitFor("the change to be seen", async () => {
    const changes = await installer.install({ rendered });
    if (changes.applied.length === 0 && changes.failed.length === 0) return false;
    expect(changes).toMatchObject({ failed: [], parked: [], applied: [key] });
    return true;
  });
  const sent = await sentTo(fleet().spoke(0), since);
  expect((await installer.install({ rendered })).applied).toEqual([]);
  const codes = sent.filter(({ verb }) => verb === "patch").map(({ code }) => code);
  // Where the cluster's own controllers wrote in between, it begins anew.
  return codes.join(" ").replaceAll("422 409 ", "");
}

const refusedTakenOverApplied = "422 200 200";

interface Case {
  readonly what: string;
  readonly field: string;
  /** What somebody puts there. */
  readonly theirs: unknown;
  readonly wanted: unknown;
}

const pod = ["spec", "template", "spec"];
const sidecar = { name: "sidecar", image: "example.com/theirs", ports: [{ containerPort: 99 }] };

describe("a foreign change beside which the server refuses ours is taken over (engine-facts 3)", () => {
  test.each<Case>([
    {
      what: "the number of a container's port",
      field: "ports",
      theirs: [{ name: "http", containerPort: 81 }],
      wanted: [{ ...port, protocol: "TCP" }],
    },
    {
      what: "the handler of a probe",
      field: "readinessProbe",
      theirs: { tcpSocket: { port: 80 } },
      wanted: expect.objectContaining({ httpGet: { ...probe.httpGet, scheme: "HTTP" } }),
    },
    {
      what: "where the value of a variable comes from",
      field: "env",
      theirs: [{ name: "POD", value: "theirs" }],
      wanted: [variable],
    },
  ])("$what", async ({ field, theirs, wanted }) => {
    const { admin } = fleet().spoke(0);
    const namespace = `taken-${field}`.toLowerCase();
    await using opened = await openInstaller(fleet().spoke(0), {
      component: eventing({}, { namespace }),
    });
    const { installer } = opened;
    await installer.install({ rendered: renderedOf(workload(namespace), serviceOf(namespace)) });
    await installer.observation.waitForSync(AbortSignal.timeout(60_000));
    const key = keyOf(workload(namespace));
    await put(key, "/apis/apps/v1/namespaces/NS/deployments", ({ spec }) => {
      const { containers, volumes } = spec.template.spec;
      Object.assign(containers[0] ?? {}, { [field]: theirs });
      containers.push(sidecar);
      volumes.push({ name: "theirs", emptyDir: {} });
    });
    expect(await repair(installer, key)).toBe(refusedTakenOverApplied);
    const after = await admin.get(key);
    expect(valueAt(after, ...pod, "containers", 0, field)).toEqual(wanted);
    expect(valueAt(after, ...pod, "containers", 1, "ports")).toMatchObject(sidecar.ports);
    expect(valueAt(after, ...pod, "volumes")).toHaveLength(2);
    expect(after?.metadata.labels).toMatchObject({ theirs: "kept" });
    expect(isRecord(ownedBy(after, "kubectl-edit"))).toBe(true);
  });

  test("the type of a volume", async () => {
    const { admin } = fleet().spoke(0);
    const namespace = "taken-volumes";
    await using opened = await openInstaller(fleet().spoke(0), {
      component: eventing({}, { namespace }),
    });
    const { installer } = opened;
    await installer.install({ rendered: renderedOf(workload(namespace), serviceOf(namespace)) });
    await installer.observation.waitForSync(AbortSignal.timeout(60_000));
    const key = keyOf(workload(namespace));
    const volume = { name: "theirs", emptyDir: {} };
    await put(key, "/apis/apps/v1/namespaces/NS/deployments", ({ spec }) => {
      spec.template.spec.volumes = [{ name: "data", emptyDir: {} }, volume];
    });
    expect(await repair(installer, key)).toBe(refusedTakenOverApplied);
    expect(valueAt(await admin.get(key), ...pod, "volumes")).toEqual([
      { name: "data", configMap: { name: "data", defaultMode: 420 } },
      volume,
    ]);
  });

  test("the number of a Service's port", async () => {
    const { admin } = fleet().spoke(0);
    const namespace = "taken-service";
    await using opened = await openInstaller(fleet().spoke(0), {
      component: eventing({}, { namespace }),
    });
    const { installer } = opened;
    await installer.install({ rendered: renderedOf(workload(namespace), serviceOf(namespace)) });
    await installer.observation.waitForSync(AbortSignal.timeout(60_000));
    const key = keyOf(serviceOf(namespace));
    await put(key, "/api/v1/namespaces/NS/services", ({ spec }) => {
      spec.ports = [{ name: "http", port: 81, targetPort: 80 }];
    });
    expect(await repair(installer, key)).toBe(refusedTakenOverApplied);
    const after = await admin.get(key);
    expect(valueAt(after, "spec", "ports")).toEqual([
      { name: "http", port: 80, protocol: "TCP", targetPort: 80 },
    ]);
    expect(after?.metadata.labels).toMatchObject({ theirs: "kept" });
  });

  test("the owner that controls an object; what else others put there stays", async () => {
    const { admin } = fleet().spoke(0);
    const namespace = "taken-owner";
    await using opened = await openInstaller(fleet().spoke(0), {
      component: eventing({}, { namespace }),
    });
    const { installer } = opened;
    await installer.install({ rendered: renderedOf(workload(namespace), serviceOf(namespace)) });
    await installer.observation.waitForSync(AbortSignal.timeout(60_000));
    const key = keyOf(serviceOf(namespace));
    const ours = (await admin.get(key))?.metadata.ownerReferences;
    const owners = await Promise.all(
      ["boss", "backup"].map(async (name) => {
        const type = { apiVersion: "v1", kind: "ConfigMap" };
        const { metadata } = await admin.create({ ...type, metadata: { name, namespace } });
        return { ...type, name, uid: metadata.uid };
      }),
    );
    const [boss, backup] = owners;
    await put(key, "/api/v1/namespaces/NS/services", ({ metadata }) => {
      metadata.ownerReferences = [{ ...boss, controller: true }, { ...backup }];
    });
    expect(await repair(installer, key)).toBe(refusedTakenOverApplied);
    const { labels, ownerReferences = [] } = (await admin.get(key))?.metadata ?? {};
    expect(labels).toMatchObject({ theirs: "kept" });
    expect(ownerReferences).toHaveLength(2);
    expect(ownerReferences).toEqual(expect.arrayContaining([backup, ours?.[0]]));
  });
});

test("the record of an installation that is sent again because its answer was lost is no conflict", async () => {
  const spoke = fleet().spoke(0);
  const namespace = "sent-again";
  const component = eventing({}, { namespace });
  await using opened = await openInstaller(spoke, { component });
  const { client } = opened.installer;
  let repeated = 0;
  const apply: KubeClient["apply"] = async (ref, ...others) => {
    if (!ref.name.endsWith("-root-owner")) return client.apply(ref, ...others);
    repeated += 1;
    await client.apply(ref, ...others);
    return client.apply(ref, ...others);
  };
  await using again = opened.installer.beside({ ...client, apply });
  const rendered = renderedOf(serviceOf(namespace));
  expect(await again.install({ rendered })).toMatchObject({ parked: [], failed: [] });
  expect(repeated).toBeGreaterThan(0);
  const anchor = await readAnchor(component, again.target, AbortSignal.timeout(60_000));
  expect(anchor?.inventory).toMatchObject({ complete: true });
});
