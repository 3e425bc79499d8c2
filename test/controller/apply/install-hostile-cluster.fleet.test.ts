// Servers of its own: an admission plugin that is off by default.
import { describe, expect, test } from "vitest";

import type { Clock } from "../../../access/time/clock.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { keepWhileUsedAnnotation } from "../../../api/component.ts";
import { keyOf, type Manifest } from "../../../api/kubernetes.ts";
import { PendingChanges } from "../../../controller/queue/pending-changes.ts";
import { finalize } from "../../../controller/uninstall/finalize.ts";
import { assertUnused } from "../../../controller/uninstall/in-use.ts";
import { anchorKey } from "../../../installation/anchor-object.ts";
import { anchorNameOf } from "../../../installation/anchor.ts";
import { conditionOf, valueAt } from "../../fleet/json-record.ts";
import { useSpokes } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { QuickClock } from "../../support/quick-clock.ts";
import { silentLog } from "../../support/silent-log.ts";
import { definitionOf } from "../hand-made-installation.ts";
import { eventing, openInstaller } from "./installer.ts";
import { manifestOf } from "./prepared.ts";
import { renderedOf, serviceOf, workload } from "./small-set.ts";
import { writtenTo } from "./spoke-view.ts";

/** A cluster that asks for a right to owners' finalizers before it lets anything be owned in a way that blocks their deletion. */
const apiServerFlags = ["--enable-admission-plugins=OwnerReferencesPermissionEnforcement"];
const fleet = useSpokes([{ kwok: false, apiServerFlags }]);

function configMap(namespace: string, name: string, fields: object = {}): Manifest {
  return manifestOf(`v1 ConfigMap ${namespace}/${name}`, { data: { a: "1" }, ...fields });
}

/** `as`: `admin` has a right to all kinds, `hub` those of the documentation. */
async function opened(namespace: string, as: "admin" | "hub" = "hub", clock: Clock = systemClock) {
  const component = eventing({}, { namespace });
  const spoke = fleet().spoke(0);
  const who = as === "hub" ? {} : { kubeconfig: spoke.adminKubeconfigPath };
  const { installer, ...rest } = await openInstaller(spoke, { component, clock, ...who });
  return { component, spoke, installer, clock, ...rest };
}

async function removed({ installer, clock }: Awaited<ReturnType<typeof opened>>): Promise<void> {
  const { component, target } = installer;
  await finalize({ component, target }, { clock, log: silentLog }, AbortSignal.timeout(60_000));
}

describe("what a policy of the cluster changes in our objects", () => {
  const policy = "rewrites-data";
  const group = "admissionregistration.k8s.io/v1";

  test("is taken as it is: nothing is written again, and no fight is seen", async () => {
    await using scene = await opened("rewritten");
    const { installer, spoke } = scene;
    const { admin } = spoke;
    const rendered = renderedOf(
      configMap("rewritten", "one"),
      workload("rewritten", { replicas: 1 }),
    );
    await admin.create({
      apiVersion: group,
      kind: "MutatingAdmissionPolicy",
      metadata: { name: policy },
      spec: {
        failurePolicy: "Fail",
        reinvocationPolicy: "Never",
        matchConstraints: {
          resourceRules: [
            {
              apiGroups: ["", "apps"],
              apiVersions: ["v1"],
              operations: ["CREATE", "UPDATE"],
              resources: ["configmaps", "deployments"],
            },
          ],
        },
        matchConditions: [
          {
            name: "of-this-test",
            expression:
              "object.metadata.namespace == 'rewritten' && object.metadata.name in ['one', 'main']",
          },
        ],
        mutations: [
          {
            patchType: "JSONPatch",
            jsonPatch: {
              expression:
                "object.kind == 'ConfigMap' ? [JSONPatch{op: 'replace', path: '/data/a', value: 'theirs'}, JSONPatch{op: 'add', path: '/data/b', value: 'theirs'}] : [JSONPatch{op: 'replace', path: '/spec/replicas', value: 2}]",
            },
          },
        ],
      },
    });
    await admin.create({
      apiVersion: group,
      kind: "MutatingAdmissionPolicyBinding",
      metadata: { name: policy },
      spec: { policyName: policy },
    });
    const first = manifestOf("v1 ConfigMap rewritten/one", { data: { a: "1" } });
    await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "rewritten" } });
    await waitFor("the policy to be in force", async () => {
      const answer = await admin.request(
        "POST",
        "/api/v1/namespaces/rewritten/configmaps?dryRun=All",
        first,
      );
      return valueAt(answer, "data", "a") === "theirs";
    });
    expect(await installer.install({ rendered })).toMatchObject({ failed: [], parked: [] });
    const live = await admin.get(keyOf(first));
    expect(valueAt(live, "data")).toEqual({ a: "theirs", b: "theirs" });
    const since = new Date();
    await installer.observation.waitForSync(AbortSignal.timeout(60_000));
    for (let round = 0; round < 3; round += 1) {
      expect(await installer.install({ rendered })).toMatchObject({ applied: [], conflicts: [] });
    }
    await installer.restart();
    expect(await installer.install({ rendered })).toMatchObject({ applied: [], conflicts: [] });
    expect(await writtenTo(spoke, since)).toEqual([]);

    const changed = renderedOf(
      configMap("rewritten", "one", { data: { a: "2" } }),
      workload("rewritten", { replicas: 1 }),
    );
    expect(await installer.install({ rendered: changed })).toMatchObject({ failed: [] });
    expect((await installer.install({ rendered: changed })).applied).toEqual([]);
    await removed(scene);
  });
});

test("a quota that is used up refuses objects by its name, holds no other, and is passed when there is room", async () => {
  await using scene = await opened("crowded");
  const { installer, spoke } = scene;
  const { admin } = spoke;
  const quota = { apiVersion: "v1", kind: "ResourceQuota", namespace: "crowded", name: "few" };
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "crowded" } });
  await admin.create({
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata: { namespace: "crowded", name: "few" },
    spec: { hard: { "count/services": "0" } },
  });
  await waitFor("the quota to be counted", async () => {
    return valueAt(await admin.get(quota), "status", "hard", "count/services") === "0";
  });
  const rendered = renderedOf(
    configMap("crowded", "one"),
    workload("crowded"),
    serviceOf("crowded"),
  );
  const changes = await installer.install({ rendered });
  expect(changes.applied).toHaveLength(2);
  expect(changes.failed).toEqual([
    expect.objectContaining({ message: "Not allowed: the quota few is exhausted" }),
  ]);
  await admin.remove(quota);
  await waitFor("the Service to be accepted", async () => {
    const { failed } = await installer.install({ rendered });
    return failed.length === 0;
  });
  await removed(scene);
});

test("without the verbs bind and escalate an install ends at once, names them, and holds no other object", async () => {
  const spoke = fleet().spoke(0);
  const namespace = "plain";
  const verbs = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
  const { token } = await spoke.serviceAccountToken({
    namespace: "default",
    name: "plain",
    rules: [{ apiGroups: ["*"], resources: ["*"], verbs }],
  });
  const kubeconfig = await spoke.writeKubeconfig("plain.kubeconfig", { identity: { token } });
  const component = eventing({}, { namespace });
  await using opening = await openInstaller(spoke, { component, kubeconfig });
  const { installer } = opening;
  const group = "rbac.authorization.k8s.io";
  const names = ["plain-a", "plain-b"];
  const roles = names.map((name) =>
    manifestOf(`${group}/v1 ClusterRole ${name}`, {
      rules: [{ apiGroups: ["example.com"], resources: ["things"], verbs: ["*"] }],
    }),
  );
  const bindings = names.map((name) =>
    manifestOf(`${group}/v1 ClusterRoleBinding ${name}`, {
      roleRef: { apiGroup: group, kind: "ClusterRole", name },
      subjects: [{ kind: "ServiceAccount", name: "any", namespace }],
    }),
  );
  const { applied, parked, failed } = await installer.install({
    rendered: renderedOf(...roles, ...bindings, configMap(namespace, "one")),
  });
  expect(applied).toEqual([expect.objectContaining({ kind: "ConfigMap" })]);
  expect(failed.map(({ message }) => message)).toEqual(
    names.map(() => expect.stringContaining("lacks the verbs bind and escalate")),
  );
  expect(parked).toEqual(
    bindings.map((binding) => ({ key: keyOf(binding), message: "Waiting for its role" })),
  );
  await removed({ component, spoke, clock: systemClock, ...opening });
});

test("a CRD of which the cluster still stores an old version is named with the field, and holds no other object", async () => {
  await using scene = await opened("stored", "admin");
  const { installer, spoke } = scene;
  const { admin } = spoke;
  const old = definitionOf("relics.example", "v0", { Relic: "relics" });
  await admin.create(old);
  await waitFor("the CRD to be served", async () => {
    return conditionOf(await admin.get(keyOf(old)), "Established")?.status === "True";
  });
  const definition = definitionOf("relics.example", "v1", { Relic: "relics" });
  const relic = manifestOf("relics.example/v1 Relic stored/one");
  const changes = await installer.install({
    rendered: renderedOf(definition, relic, configMap("stored", "one")),
  });
  expect(changes.applied).toEqual([expect.objectContaining({ kind: "ConfigMap" })]);
  expect([...changes.failed, ...changes.parked]).toEqual([
    { key: keyOf(definition), message: "Invalid: status.storedVersions[0]" },
    { key: keyOf(relic), message: "The cluster does not serve relics.example/v1 Relic" },
  ]);
  await removed(scene);
  await admin.remove(keyOf(old));
});

/** Who knows nothing of an installation whose anchor is gone: the cluster has to tell. */
const recall = () => Promise.resolve({ entries: [], isAll: false });

test("D-60: a component that asks for it is kept while a user has an object of its kinds", async () => {
  await using scene = await opened("used", "admin");
  const { installer, spoke } = scene;
  const { admin } = spoke;
  const definition = definitionOf("gadgets.example", "v1", { Gadget: "gadgets" });
  const ours = manifestOf("gadgets.example/v1 Gadget used/ours");
  expect(await installer.install({ rendered: renderedOf(definition, ours) })).toMatchObject({
    parked: [],
    failed: [],
  });
  const theirs = manifestOf("gadgets.example/v1 Gadget used/theirs");
  await admin.create(theirs);
  const annotations = { [keepWhileUsedAnnotation]: "true" };
  const metadata = { ...installer.component.metadata, annotations };
  const component = { ...installer.component, metadata };
  const { target } = installer;
  const signal = AbortSignal.timeout(60_000);
  const asked = () => assertUnused({ clock: systemClock, component, target, recall }, signal);
  await expect(asked()).rejects.toThrow(/^Still used by 1 Gadget \(used\/theirs\); delete them/);
  await using limited = await openInstaller(spoke, { component });
  const ofHub = { clock: systemClock, component, target: limited.installer.target, recall };
  await expect(assertUnused(ofHub, signal)).rejects.toThrow(
    /needs the right to list gadgets\.gadgets\.example, which the controller lacks/,
  );
  await admin.remove(anchorKey({ component, target }));
  await expect(asked()).rejects.toThrow(/^Still used by 1 Gadget \(used\/theirs\); delete them/);
  await admin.remove(keyOf(theirs));
  await asked();
  await removed(scene);
  await admin.remove(keyOf(definition));
});

test("an API that is not available behind its APIService holds neither an install nor a removal", async () => {
  // Its kinds are watched again after pauses that grow to half a minute.
  await using clock = new QuickClock(5);
  await using scene = await opened("unavailable", "admin", clock);
  const { installer, spoke, component } = scene;
  const { admin } = spoke;
  const service = {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name: "v1.away.example.com" },
    spec: {
      group: "away.example.com",
      version: "v1",
      groupPriorityMinimum: 100,
      versionPriority: 100,
      insecureSkipTLSVerify: true,
      service: { namespace: "default", name: "nobody" },
    },
  };
  await admin.create(service);
  const thing = manifestOf("away.example.com/v1 Thing unavailable/thing");
  const rendered = renderedOf(configMap("unavailable", "one"), thing);
  // Something else waits: what makes no progress is given up soon.
  const pendingChanges = new PendingChanges();
  pendingChanges.noteComponentChange();
  const options = { rendered, pendingChanges };
  const changes = await installer.install(options);
  expect(changes.applied).toHaveLength(1);
  expect(changes.parked).toEqual([
    { key: keyOf(thing), message: "The API server answers with status 503" },
  ]);
  const one = keyOf(configMap("unavailable", "one"));
  await admin.remove(one);
  const putBack = async (): Promise<boolean> => {
    const { failed } = await installer.install(options);
    expect(failed).toEqual([
      expect.objectContaining({
        message: "Watching things is not possible: the API server answers with status 503",
      }),
    ]);
    return (await admin.get(one)) !== undefined;
  };
  await waitFor("the ConfigMap to be put back", putBack, { timeoutMs: 120_000 });
  await installer.restart();
  await removed(scene);
  const name = anchorNameOf({ kind: component.kind, name: component.metadata.name });
  const anchor = { apiVersion: "v1", kind: "ConfigMap", namespace: "unavailable", name };
  expect(await admin.get(anchor)).toBeUndefined();
  expect(await admin.get(one)).toBeUndefined();
  await admin.remove(keyOf(service));
}, 400_000);
