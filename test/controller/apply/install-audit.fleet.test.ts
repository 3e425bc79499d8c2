import { setTimeout as delay } from "node:timers/promises";

import { expect, test } from "vitest";

import { objectId } from "../../../api/keys.ts";
import type { AnchorGate } from "../../../controller/apply/install-attempt.ts";
import { useSpokes } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { eventing, openInstaller } from "./installer.ts";
import { manifestOf } from "./prepared.ts";
import { renderedOf } from "./small-set.ts";
import { writtenTo } from "./spoke-view.ts";

const fleet = useSpokes([{ kwok: false }]);
const group = "admissionregistration.k8s.io/v1";
const policy = { apiVersion: group, kind: "ValidatingAdmissionPolicy", name: "audited" };
const binding = { ...policy, kind: "ValidatingAdmissionPolicyBinding" };

const twinGate: AnchorGate = {
  waitUntilSent: () => Promise.resolve(),
  waitUntilOpen: () => Promise.resolve(),
  needsSecondOwner: () => Promise.resolve(true),
  noteAnchor: () => undefined,
};

/** Denies every change of one ConfigMap from now on. */
async function denyOne(): Promise<void> {
  const { admin } = fleet().spoke(0);
  const { name, ...type } = policy;
  await admin.create({
    ...type,
    metadata: { name },
    spec: {
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: [""],
            apiVersions: ["v1"],
            operations: ["UPDATE"],
            resources: ["configmaps"],
          },
        ],
      },
      matchConditions: [
        {
          name: "of-this-test",
          expression: "object.metadata.namespace == 'audited' && object.metadata.name == 'denied'",
        },
      ],
      validations: [{ expression: "false" }],
    },
  });
  await admin.create({
    apiVersion: group,
    kind: binding.kind,
    metadata: { name },
    spec: { policyName: name, validationActions: ["Deny"] },
  });
  const denied = { apiVersion: "v1", kind: "ConfigMap", namespace: "audited", name: "denied" };
  await waitFor("the policy to be in force", () =>
    admin.patch(denied, { metadata: { labels: { tried: `${Date.now()}` } } }).then(
      () => false,
      () => true,
    ),
  );
}

test("an audit sends each object until it is accepted, and no other again", async () => {
  const spoke = fleet().spoke(0);
  const names = ["denied", ...Array.from({ length: 9 }, (_, at) => `other-${at}`)];
  const rendered = renderedOf(
    ...names.map((name) => manifestOf(`v1 ConfigMap audited/${name}`, { data: { a: "1" } })),
  );
  const component = eventing({}, { namespace: "audited" });
  await using opened = await openInstaller(spoke, { component });
  const { installer } = opened;
  await installer.install({ rendered });
  await denyOne();
  installer.audit();
  const first = await installer.install({ rendered });
  expect(first.failed).toHaveLength(1);
  expect(first.applied).toHaveLength(names.length - 1);
  const since = new Date();
  const second = await installer.install({ rendered });
  expect(second.failed).toHaveLength(1);
  expect(second.applied).toEqual([]);
  expect(await writtenTo(spoke, since)).toEqual(["patch configmaps denied"]);
  await spoke.admin.remove(binding);
  await waitFor("the object to be accepted", async () => {
    return (await installer.install({ rendered })).applied.length === 1;
  });
  expect((await installer.install({ rendered })).applied).toEqual([]);
});

test("an audit that gives objects a second owner puts nothing right; one that finds a value that nobody saw change does", async () => {
  const { admin } = fleet().spoke(0);
  const key = { apiVersion: "v1", kind: "ConfigMap", namespace: "owned", name: "one" };
  const rendered = renderedOf(manifestOf("v1 ConfigMap owned/one", { data: { a: "1" } }));
  await using opened = await openInstaller(fleet().spoke(0), {
    component: eventing({}, { namespace: "owned" }),
  });
  const { installer } = opened;
  await installer.install({ rendered });
  installer.audit();
  expect(await installer.install({ rendered, gate: twinGate })).toMatchObject({
    applied: [{ name: "one" }],
    repaired: [],
  });
  const live = await admin.get(key);
  expect(live?.metadata.ownerReferences).toHaveLength(2);
  // The server tells two applies apart by the second.
  await delay(1_100);
  await admin.patch(key, { data: { a: "2" } });
  const { resourceVersion } = await admin
    .patch(key, {
      metadata: { managedFields: live?.metadata.managedFields },
    })
    .then(({ metadata }) => metadata);
  const id = objectId(key);
  await waitFor("the last change to be seen", async () => {
    return installer.observation.objects().get(id)?.resourceVersion === resourceVersion;
  });
  expect((await installer.install({ rendered, gate: twinGate })).applied).toEqual([]);
  installer.audit();
  expect((await installer.install({ rendered, gate: twinGate })).repaired).toMatchObject([
    { name: "one" },
  ]);
  expect((await admin.get(key))?.["data"]).toEqual({ a: "1" });
});

/** A kubeconfig with which Secrets can be written, but neither listed nor watched. */
async function blindKubeconfig(): Promise<string> {
  const spoke = fleet().spoke(0);
  const { token } = await spoke.serviceAccountToken({
    namespace: "knfleet",
    name: "blind",
    rules: [
      { apiGroups: [""], resources: ["namespaces", "configmaps"], verbs: ["*"] },
      { apiGroups: [""], resources: ["configmaps/finalizers"], verbs: ["update"] },
      { apiGroups: [""], resources: ["secrets"], verbs: ["get", "create", "patch", "delete"] },
    ],
  });
  return spoke.writeKubeconfig("blind.kubeconfig", { identity: { token }, server: spoke.server });
}

test("an audit brings back what somebody deleted or changed and nobody may watch", async () => {
  const { admin } = fleet().spoke(0);
  const key = { apiVersion: "v1", kind: "Secret", namespace: "blind", name: "one" };
  const data = { a: "MQ==" };
  const rendered = renderedOf(
    manifestOf("v1 ConfigMap blind/seen"),
    manifestOf("v1 Secret blind/one", { data }),
  );
  await using opened = await openInstaller(fleet().spoke(0), {
    component: eventing({}, { namespace: "blind" }),
    kubeconfig: await blindKubeconfig(),
  });
  const { installer } = opened;
  const unseen = { failed: [{ key: { kind: "Secret" } }] };
  await installer.install({ rendered });
  expect(await installer.install({ rendered })).toMatchObject({ applied: [], ...unseen });
  await admin.remove(key);
  expect(await installer.install({ rendered })).toMatchObject({ applied: [], ...unseen });
  installer.audit();
  await installer.install({ rendered });
  expect((await admin.get(key))?.["data"]).toEqual(data);
  await admin.patch(key, { data: { a: "Mg==" } });
  installer.audit();
  await installer.install({ rendered });
  expect((await admin.get(key))?.["data"]).toEqual(data);
  // It is over: what is still not seen is not sent again and again.
  expect(await installer.install({ rendered })).toMatchObject({ applied: [], ...unseen });
});
