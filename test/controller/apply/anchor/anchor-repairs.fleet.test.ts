import { expect, test } from "vitest";

import { systemClock } from "../../../../access/time/system-clock.ts";
import { keyOf, type KubeObject, type Manifest } from "../../../../api/kubernetes.ts";
import { anchorKey } from "../../../../installation/anchor-object.ts";
import { anchorAnnotations } from "../../../../installation/anchor.ts";
import { useSpokes } from "../../../fleet/use-fleet.ts";
import { waitFor } from "../../../fleet/wait-for.ts";
import { eventing, openInstaller } from "../installer.ts";
import { manifestOf } from "../prepared.ts";
import { renderedOf } from "../small-set.ts";
import { sentTo } from "../spoke-view.ts";

const fleet = useSpokes([{ kwok: false }]);

const uid = "0f7d9a52-0000-4000-8000-000000000011";

/** A component whose namespace has a team. */
function componentOf(namespace: string, team: string) {
  return eventing({ namespace: { labels: { team } } }, { namespace, uid });
}

function keyOfNamespace(name: string) {
  return { apiVersion: "v1", kind: "Namespace", name };
}

function namespaceOf(name: string, team: string): Manifest {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name, labels: { team } } };
}

function teamOf(object: KubeObject | undefined): string | undefined {
  return object?.metadata.labels?.["team"];
}

test("a label of the namespace that a policy refuses is told of, and holds neither repairs nor upgrades", async () => {
  const { admin } = fleet().spoke(0);
  const namespace = "governed";
  const group = "admissionregistration.k8s.io/v1";
  const policyName = "teams-stay";
  const [one, two] = ["one", "two"].map((name) => manifestOf(`v1 ConfigMap ${namespace}/${name}`));
  if (one === undefined || two === undefined) throw new Error("Two ConfigMaps");
  const component = componentOf(namespace, "a");
  await using opened = await openInstaller(fleet().spoke(0), { component });
  const { installer } = opened;
  const rendered = renderedOf(one);
  await installer.install({ rendered });
  await admin.create({
    apiVersion: group,
    kind: "ValidatingAdmissionPolicy",
    metadata: { name: policyName },
    spec: {
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: [""],
            apiVersions: ["v1"],
            operations: ["UPDATE"],
            resources: ["namespaces"],
          },
        ],
      },
      matchConditions: [{ name: "this", expression: `object.metadata.name == '${namespace}'` }],
      validations: [
        { expression: "object.metadata.labels.team == oldObject.metadata.labels.team" },
      ],
    },
  });
  const binding = {
    apiVersion: group,
    kind: "ValidatingAdmissionPolicyBinding",
    metadata: { name: policyName },
    spec: { policyName, validationActions: ["Deny"] },
  };
  await admin.create(binding);
  const key = keyOfNamespace(namespace);
  const moved = namespaceOf(namespace, "x");
  const isInForce = (): Promise<boolean> =>
    admin.request("PUT", `/api/v1/namespaces/${namespace}?dryRun=All`, moved).then(
      () => false,
      () => true,
    );
  await waitFor("the policy to be in force", isInForce);
  const refused = {
    failed: [
      { key, message: `Not allowed: the ValidatingAdmissionPolicy ${policyName} denies it` },
    ],
  };

  const next = { component: componentOf(namespace, "c") };
  await admin.remove(keyOf(one));
  await waitFor("what was deleted to be back", async () => {
    expect(await installer.install({ rendered, ...next })).toMatchObject(refused);
    return (await admin.get(keyOf(one))) !== undefined;
  });
  const upgraded = await installer.install({ rendered: renderedOf(two), ...next });
  expect(upgraded).toMatchObject({ applied: [keyOf(two)], pruned: [keyOf(one)], ...refused });
  expect(teamOf(await admin.get(key))).toBe("a");
  await admin.remove(keyOf(binding));
  await waitFor("the policy to be gone", async () => {
    const { failed } = await installer.install({ rendered: renderedOf(two), ...next });
    return failed.length === 0;
  });
  expect(teamOf(await admin.get(key))).toBe("c");

  // What somebody changed, and nobody may change back, is told of at each attempt.
  await admin.apply(namespaceOf(namespace, "theirs"), { fieldManager: "somebody" });
  await waitFor("that to be seen", () => Promise.resolve(installer.observation.isDisturbed()));
  await admin.create(binding);
  await waitFor("the policy to be in force again", isInForce);
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    expect(await installer.install({ rendered: renderedOf(two), ...next })).toMatchObject(refused);
  }
  await admin.remove(keyOf(binding));
});

test("a fight over a label of the namespace is told of by name, slowed down, and over in the end", async () => {
  const spoke = fleet().spoke(0);
  const { admin } = spoke;
  const namespace = "fought-over";
  const key = keyOfNamespace(namespace);
  await using opened = await openInstaller(spoke, { component: componentOf(namespace, "ours") });
  const { installer } = opened;
  const rendered = renderedOf(manifestOf(`v1 ConfigMap ${namespace}/one`));
  await installer.install({ rendered });
  /** One more attempt after the other tool has put its value there. */
  const round = async (aheadMs = 0) => {
    await admin.apply(namespaceOf(namespace, "theirs"), { fieldManager: "argocd-controller" });
    await waitFor("that to be seen", () => Promise.resolve(installer.observation.isDisturbed()));
    return after(aheadMs);
  };
  const after = (aheadMs: number) =>
    installer.install({
      rendered,
      clock: { ...systemClock, now: () => systemClock.now() + aheadMs },
    });
  const contest = {
    key,
    managers: [{ manager: "argocd-controller", fields: ["metadata.labels.team"] }],
  };
  for (const conflicts of [[], [], [contest]]) {
    expect(await round()).toMatchObject({ repaired: [key], conflicts });
    expect(teamOf(await admin.get(key))).toBe("ours");
  }
  expect(await round()).toMatchObject({ repaired: [], conflicts: [contest] });
  expect(await after(5_000)).toMatchObject({ repaired: [], conflicts: [contest] });
  expect(teamOf(await admin.get(key))).toBe("theirs");
  expect(await after(11_000)).toMatchObject({ repaired: [key], conflicts: [contest] });
  expect(teamOf(await admin.get(key))).toBe("ours");
  // The next pause is twice as long.
  expect(await round(25_000)).toMatchObject({ repaired: [] });
  expect(await after(32_000)).toMatchObject({ repaired: [key] });
  const since = new Date();
  expect(await after(100_000)).toMatchObject({ repaired: [], conflicts: [] });
  expect(await sentTo(spoke, since)).toEqual([]);
});

test("a fight over the marks of the anchor is told of by name, and slowed down", async () => {
  const spoke = fleet().spoke(0);
  const { admin } = spoke;
  const component = eventing({}, { namespace: "anchored", uid });
  await using opened = await openInstaller(spoke, { component });
  const { installer } = opened;
  const rendered = renderedOf(manifestOf("v1 ConfigMap anchored/one"));
  await installer.install({ rendered });
  const key = anchorKey(installer);
  const { protected: mark } = anchorAnnotations;
  const isMarked = async () => (await admin.get(key))?.metadata.annotations?.[mark] === "true";
  const round = async () => {
    const { namespace, name } = key;
    const metadata = { namespace, name, annotations: { [mark]: "false" } };
    const stripped = { apiVersion: "v1", kind: "ConfigMap", metadata };
    await admin.apply(stripped, { fieldManager: "cleaner" });
    await waitFor("that to be seen", () => Promise.resolve(installer.observation.isDisturbed()));
    return after(0);
  };
  const after = (aheadMs: number, set = rendered) =>
    installer.install({
      rendered: set,
      clock: { ...systemClock, now: () => systemClock.now() + aheadMs },
    });
  const fields = [`metadata.annotations.${mark}`];
  const contest = { key, managers: [{ manager: "cleaner", fields }] };
  for (const conflicts of [[], [], [contest]]) {
    expect(await round()).toMatchObject({ repaired: [key], conflicts });
    expect(await isMarked()).toBe(true);
  }
  expect(await round()).toMatchObject({ repaired: [], conflicts: [contest] });
  expect(await after(5_000)).toMatchObject({ repaired: [], conflicts: [contest] });
  expect(await isMarked()).toBe(false);
  expect(await after(11_000)).toMatchObject({ repaired: [key], conflicts: [contest] });
  expect(await isMarked()).toBe(true);

  // What there is to do is done all the same.
  expect(await round()).toMatchObject({ repaired: [] });
  const next = renderedOf(manifestOf("v1 ConfigMap anchored/two"));
  expect(await after(12_000, next)).toMatchObject({
    applied: [keyOf(manifestOf("v1 ConfigMap anchored/two"))],
    conflicts: [contest],
  });
  expect(await isMarked()).toBe(true);
});
