import { beforeAll, expect, onTestFinished, test } from "vitest";

import { asComponent } from "../../../../../controller/component-identity.ts";
import { componentOf } from "../../../../e2e/installation.ts";
import { allRights, type LimitedUser } from "../../../../faults/commands/limited-user.ts";
import { shapeOf } from "../../../../faults/commands/shape.ts";
import { useFleet } from "../../../../fleet/use-fleet.ts";
import { runKnfleet } from "../../run-knfleet.ts";
import { guardedInstallation, installedIn } from "./guarded-installation.ts";

const fleet = useFleet({ spokes: 1 });
const kind = "KnativeEventing";
let identity: LimitedUser;
let providerFile: string;

beforeAll(async () => {
  const { hub } = fleet();
  const spoke = fleet().spoke(0);
  providerFile = await fleet().providerFile();
  identity = await allRights(spoke);
  const account = { namespace: "bench", name: "limited" };
  const on = await fleet().addProfile(spoke, { plugin: "secretreader", identity: account });
  await hub.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: installedIn } });
  const component = asComponent(await hub.admin.create(componentOf({ kind, on })));
  if (component === undefined) throw new Error("The hub has no component");
  const system = { apiVersion: "v1", kind: "Namespace", name: "kube-system" };
  const hubId = (await hub.admin.get(system))?.metadata.uid ?? "";
  const parts = guardedInstallation(component, { profile: on, hubId }, ["eventing-controller"]);
  for (const part of parts) await spoke.admin.apply(part);
});

const admission = "admissionregistration.k8s.io";

// 3: the plan cannot be made without reading it.
test.each<readonly [verb: string, group: string, resource: string, code: number]>([
  ["list", admission, "validatingadmissionpolicies", 3],
  ["list", admission, "validatingadmissionpolicybindings", 3],
  ["list", "apps", "deployments", 3],
  ["list", "batch", "jobs", 2],
  ["get", "", "configmaps", 3],
  ["delete", admission, "validatingadmissionpolicies", 2],
  ["delete", admission, "validatingadmissionpolicybindings", 2],
  ["patch", "", "namespaces", 2],
  ["patch", "apps", "deployments", 2],
  ["delete", "batch", "jobs", 2],
  ["delete", "rbac.authorization.k8s.io", "clusterroles", 2],
  ["patch", "", "configmaps", 2],
])(
  "the way back names the right to %s %s/%s that its identity lacks on a spoke, and writes nothing",
  async (...[verb, group, resource, code]) => {
    const { hub } = fleet();
    const clusters = [hub, fleet().spoke(0)];
    onTestFinished(() => identity.take(undefined));
    await identity.take({ verb, group, resource });
    const before = await shapeOf(clusters);
    const env = { KUBECONFIG: hub.adminKubeconfigPath, KNFLEET_PROVIDER_FILE: providerFile };
    const args = ["migrate", "to-upstream", "--apply", "--yes", "--timeout", "1s"];
    const { stderr, exitCode } = await runKnfleet(args, { env });
    expect({ stderr, exitCode }).toEqual({
      stderr: expect.stringMatching(`^error: [^\n]*${verb} [^\n]*${resource}`),
      exitCode: code,
    });
    expect(await shapeOf(clusters)).toEqual(before);
    const record = { apiVersion: "v1", kind: "ConfigMap", labelSelector: "knfleet.dev/migration" };
    expect(await hub.admin.list(record)).toEqual([]);
  },
);
