// @module-tag release-files
// Servers of its own: an older minor of Kubernetes.
import { expect, test } from "vitest";

import { valueAt } from "../../fleet/json-record.ts";
import { useSpokes } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { eventing, openInstaller } from "./installer.ts";

const namespace = "knative-eventing";

// What a foreign write takes out of an entry of managedFields is the business of the API server.
const fleet = useSpokes([
  { kwok: false, name: "newest" },
  { kwok: false, name: "older", kubernetes: "1.35" },
]);

test.each(["newest", "older"])(
  "the adapter is left to the PingSource controller: %s",
  async (name) => {
    const spoke = fleet().spoke(name);
    await using opened = await openInstaller(spoke, {
      component: eventing({ version: "1.23.0" }, { namespace }),
    });
    const { installer } = opened;
    await installer.install();
    await installer.observation.waitForSync(AbortSignal.timeout(60_000));
    const key = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      namespace,
      name: "pingsource-mt-adapter",
    };
    const live = await spoke.admin.get(key);
    const container = valueAt(live, "spec", "template", "spec", "containers", 0);
    const env = valueAt(container, "env");
    const names = (Array.isArray(env) ? env : []).map((item) => String(valueAt(item, "name")));
    expect(names).toContain("POD_NAME");
    // Its controller writes all variables anew at each change of a configuration, and has no POD_NAME among them.
    const taken = names.filter((variable) => variable !== "POD_NAME").toReversed();
    const environmentOf = (round: number) =>
      taken.map((variable) => ({ name: variable, value: `${round}` }));
    const isSeen = async () =>
      installer.changes.some((change) => change.kind === "object" && change.key.name === key.name);
    installer.changes.length = 0;
    for (const round of [1, 2, 3, 4]) {
      const generation = Number(valueAt(await spoke.admin.get(key), "metadata", "generation"));
      const containers = [{ ...Object(container), env: environmentOf(round) }];
      await spoke.admin.patch(key, { spec: { replicas: 1, template: { spec: { containers } } } });
      // Later values are no longer ours, so that their change is no news.
      if (round === 1) await waitFor("the hand-over to be seen", isSeen);
      const { applied, repaired, conflicts } = await installer.install();
      const sent = round === 1 ? [{ name: key.name }] : [];
      expect([applied, repaired, conflicts]).toMatchObject([sent, [], []]);
      const after = await spoke.admin.get(key);
      expect(valueAt(after, "metadata", "generation")).toBe(generation + 1);
      expect(valueAt(after, "spec", "replicas")).toBe(1);
      expect(valueAt(after, "spec", "template", "spec", "containers", 0, "env")).toEqual(
        environmentOf(round),
      );
    }
    expect((await installer.install()).applied).toEqual([]);
  },
);
