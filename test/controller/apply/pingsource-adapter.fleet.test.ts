import { expect, test } from "vitest";

import { valueAt } from "../../fleet/json-record.ts";
import { useFleet } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { eventing, openInstaller } from "./installer.ts";

const namespace = "knative-eventing";

// What a foreign write takes out of an entry of managedFields is the business of the API server.
const fleet = useFleet({
  spokes: [
    { kwok: false, name: "newest" },
    { kwok: false, name: "older", kubernetes: "1.35" },
  ],
});

test.each(["newest", "older"])(
  "the adapter is left to the PingSource controller: %s",
  async (name) => {
    const spoke = fleet().spoke(name);
    await using opened = await openInstaller(spoke, {
      component: eventing({ version: "1.23.0" }, { namespace }),
    });
    const { installer } = opened;
    await installer.install();
    await installer.observation.synced(AbortSignal.timeout(60_000));
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
    const taken = names.filter((name) => name !== "POD_NAME").toReversed();
    const write = async (round: number): Promise<unknown> => {
      installer.changes.length = 0;
      const written = taken.map((name) => ({ name, value: `${round}` }));
      const template = { spec: { containers: [{ ...Object(container), env: written }] } };
      const generation = valueAt(await spoke.admin.get(key), "metadata", "generation");
      await spoke.admin.patch(key, {
        spec: { replicas: 1, template },
      });
      await waitFor("the change to be seen", async () =>
        installer.changes.some(
          (change) => change.kind === "object" && change.key.name === key.name,
        ),
      );
      return generation;
    };
    for (const round of [1, 2, 3, 4]) {
      const generation = Number(await write(round));
      const { applied, repaired, contested } = await installer.install();
      expect([applied, repaired, contested]).toMatchObject([[{ name: key.name }], [], []]);
      const after = await spoke.admin.get(key);
      expect(valueAt(after, "metadata", "generation")).toBe(generation + 1);
      expect(valueAt(after, "spec", "replicas")).toBe(1);
      expect(valueAt(after, "spec", "template", "spec", "containers", 0, "env")).toEqual(
        taken.map((name) => ({ name, value: `${round}` })),
      );
    }
    expect((await installer.install()).applied).toEqual([]);
  },
);
