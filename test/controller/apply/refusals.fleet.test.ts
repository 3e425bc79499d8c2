import { expect, test } from "vitest";

import { systemClock } from "../../../access/time/system-clock.ts";
import { keyOf } from "../../../api/kubernetes.ts";
import { fleetErrorOf } from "../../../controller/status/outcome.ts";
import { finalize } from "../../../controller/uninstall/finalize.ts";
import { anchorKey } from "../../../installation/anchor-object.ts";
import { useSpokes } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { silentLog } from "../../support/silent-log.ts";
import { definitionOf } from "../hand-made-installation.ts";
import { eventing, type Installer, openInstaller, userAgent } from "./installer.ts";
import { manifestOf } from "./prepared.ts";
import { renderedOf, workload } from "./small-set.ts";

const fleet = useSpokes([{ kwok: false }]);

async function removed({ component, target }: Installer): Promise<void> {
  await finalize(
    { component, target },
    { clock: systemClock, log: silentLog },
    AbortSignal.timeout(60_000),
  );
}

test("a policy that denies the anchor is named, with the reason Invalid that policies have unless they say otherwise", async () => {
  const spoke = fleet().spoke(0);
  const { admin } = spoke;
  const component = eventing({}, { namespace: "policed" });
  await using opened = await openInstaller(spoke, { component });
  const { installer } = opened;
  const { name } = anchorKey({ component, target: installer.target });
  const group = "admissionregistration.k8s.io/v1";
  const policy = { apiVersion: group, kind: "ValidatingAdmissionPolicy", name: "only-ci" };
  const binding = { ...policy, kind: `${policy.kind}Binding` };
  await admin.create({
    ...manifestOf(`${group} ${policy.kind} only-ci`),
    spec: {
      failurePolicy: "Fail",
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: [""],
            apiVersions: ["v1"],
            operations: ["CREATE", "UPDATE"],
            resources: ["configmaps"],
          },
        ],
      },
      matchConditions: [
        { name: "of-this-test", expression: "object.metadata.namespace == 'policed'" },
      ],
      validations: [{ expression: "false", message: "only for CI" }],
    },
  });
  await admin.create({
    ...manifestOf(`${group} ${binding.kind} only-ci`),
    spec: { policyName: "only-ci", validationActions: ["Deny"] },
  });
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "policed" } });
  const probe = { apiVersion: "v1", kind: "ConfigMap", metadata: { name } };
  const path = "/api/v1/namespaces/policed/configmaps?dryRun=All";
  await waitFor("the policy to be in force", () =>
    admin.request("POST", path, probe).then(
      () => false,
      () => true,
    ),
  );
  const rendered = renderedOf(workload("policed"));
  const error: unknown = await installer.install({ rendered }).catch((caught: unknown) => caught);
  expect(fleetErrorOf(error, "The spoke")).toMatchObject({
    reason: "ApplyFailed",
    message:
      "[AdmissionRefused] The spoke: POST /api/v1/namespaces/policed/configmaps was answered 422 Invalid: the ValidatingAdmissionPolicy only-ci denies it",
  });
  await Promise.all([policy, binding].map((key) => admin.remove(key)));
  await waitFor("the policy to be out of force", () =>
    installer.install({ rendered }).then(
      () => true,
      () => false,
    ),
  );
  await removed(installer);
});

test.each([
  // With what the API server notes about each field: 1.5 to 2 MiB, and more than 2.
  { fields: 48_000, namespace: "large" },
  { fields: 80_000, namespace: "larger" },
])(
  "an object of $fields fields is larger than etcd takes, is refused for good, and holds no other",
  async ({ fields, namespace }) => {
    const spoke = fleet().spoke(0);
    const component = eventing({}, { namespace });
    const kubeconfig = spoke.adminKubeconfigPath;
    await using opened = await openInstaller(spoke, { component, kubeconfig });
    const { installer } = opened;
    const definition = definitionOf(`${namespace}.example`, "v1", { Bulk: "bulks" });
    const entries = Array.from({ length: fields }, (_, index) => [`field-${index}`, "x"] as const);
    const bulk = manifestOf(`${namespace}.example/v1 Bulk ${namespace}/one`, {
      spec: Object.fromEntries(entries),
    });
    const rendered = renderedOf(definition, bulk, workload(namespace));
    const since = new Date();
    // A busy API server takes long for so many fields.
    const changes = await installer.install({ rendered, signal: AbortSignal.timeout(250_000) });
    expect(changes).toMatchObject({
      parked: [],
      failed: [{ key: keyOf(bulk), message: "It is larger than the cluster can store" }],
    });
    expect(changes.applied).toHaveLength(2);
    const requests = await spoke.auditLog.requests({ userAgent, since });
    expect(requests.filter(({ resource }) => resource === "bulks").length).toBeLessThan(20);
    await removed(installer);
    await spoke.admin.remove(keyOf(definition));
  },
);
