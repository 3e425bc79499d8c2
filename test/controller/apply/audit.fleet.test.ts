import { expect, test } from "vitest";

import { useFleet } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { eventing, openInstaller } from "./installer.ts";
import { manifestOf } from "./prepared.ts";
import { renderedOf } from "./small-set.ts";
import { writtenTo } from "./spoke-view.ts";

const fleet = useFleet({ spokes: [{ kwok: false }] });
const group = "admissionregistration.k8s.io/v1";
const policy = { apiVersion: group, kind: "ValidatingAdmissionPolicy", name: "audited" };
const binding = { ...policy, kind: "ValidatingAdmissionPolicyBinding" };

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
