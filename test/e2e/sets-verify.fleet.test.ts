import { afterEach, expect, test } from "vitest";

import { recordAt } from "../../api/fields.ts";
import { setLabels } from "../../api/fleet-set.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import {
  childrenOf,
  clustersOf,
  eventsOf,
  phase,
  removeSet,
  setKey,
  setOf,
  useSetScene,
  versionsOf,
  versionTemplate,
} from "./set-scene.ts";
import { group, mayListTriggers, saysReady, useKnative } from "./team-trigger.ts";

const scene = useSetScene();
const verify = { workloads: { within: "5s" } };

afterEach(async () => removeSet(scene().hub, "verified"), 240_000);

/** What the status of the set says of the canary. */
function notable(set: KubeObject | undefined): unknown {
  return valueAt(set, "status", "notable", 0);
}

// More than 15 s: a check is asked each half a minute, and a right that is missing is noticed by the next question.
test("an upgrade after which a Trigger of a team is broken is halted at the canary", async () => {
  const { hub, fleet, profiles } = scene();
  const [canary] = profiles;
  if (canary === undefined) throw new Error("There are three spokes");
  for (const spoke of fleet.spokes) await useKnative(spoke);
  for (const spoke of fleet.spokes.slice(1)) await mayListTriggers(spoke);
  const { rollout } = setOf("verified", {}).spec;
  await hub.admin.create(
    setOf("verified", {
      ...versionTemplate("1.22"),
      rollout: { ...rollout, progressDeadline: "10m", verify },
    }),
  );

  // What may not be read is never good.
  const asked = await clustersOf(hub, "verified", { verifying: 1, done: 0 });
  const lacking = await waitFor("the missing right", async () => {
    const set = await hub.admin.get(setKey("verified"));
    const { message } = recordAt(notable(set));
    return String(message).includes("has no answer") && String(message);
  });
  expect(notable(asked)).toMatchObject({ state: "Verifying", reason: "Verifying" });
  expect(lacking).toContain(`The right to list triggers.${group}`);
  await mayListTriggers(fleet.spoke(0));
  await phase(hub, "verified", "Complete");

  await hub.admin.patch(setKey("verified"), { spec: versionTemplate("1.23") });
  const stamped = async (): Promise<boolean> => {
    const set = await hub.admin.get(setKey("verified"));
    const child = (await childrenOf(hub, "verified")).get(canary.name);
    const revision = child?.metadata.labels?.[setLabels.revision];
    return (
      valueAt(child, "spec", "version") === "1.23.0" &&
      revision === valueAt(set, "status", "updateRevision")
    );
  };
  await waitFor("the canary to be stamped", stamped);
  await saysReady(fleet.spoke(0), "False");
  const halted = await phase(hub, "verified", "Halted");
  expect(notable(halted)).toMatchObject({
    cluster: `fleet/${canary.name}`,
    state: "Failed",
    reason: "WorkloadsBroken",
    message:
      "Check workloads: 1 of 1 broke since the cluster got the revision: Trigger shop/orders (BrokerGone)",
  });
  expect(await versionsOf(hub, "verified")).toEqual({
    ...scene().all("1.22.0"),
    [canary.name]: "1.23.0",
  });
  const told = await waitFor("the Event", async () => {
    const [event] = await eventsOf(hub, "verified", "Halted");
    return event;
  });
  expect(told).toContain("Stage canary halted: 1 cluster failed");
}, 300_000);
