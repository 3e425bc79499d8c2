import { once } from "node:events";
import { createServer } from "node:https";
import { text } from "node:stream/consumers";

import { afterEach, expect, onTestFinished, test } from "vitest";

import { recordAt } from "../../api/fields.ts";
import { setLabels } from "../../api/fleet-set.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { createAuthority } from "../fleet/certificates.ts";
import { valueAt } from "../fleet/json-record.ts";
import { portOf } from "../fleet/ports.ts";
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

/** A server that is asked whether a cluster may go on, and answers what `decide` says. */
async function gate(decide: (question: unknown) => object): Promise<{
  readonly url: string;
  readonly caBundle: string;
}> {
  const authority = createAuthority("gate");
  const { certificatePem: cert, keyPem: key } = authority.issue({
    commonName: "gate",
    usage: "server",
    hosts: ["127.0.0.1"],
  });
  const server = createServer({ cert, key }, async (asked, answer) => {
    answer.end(JSON.stringify(decide(JSON.parse(await text(asked)))));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const caBundle = Buffer.from(authority.certificatePem).toString("base64");
  return { url: `https://127.0.0.1:${portOf(server.address())}/gate`, caBundle };
}

test("a gate of the author's is asked about each cluster, and one that it denies halts the rollout", async () => {
  const { hub, profiles } = scene();
  const [canary] = profiles;
  const denied: unknown[] = [];
  const questions: unknown[] = [];
  const { url, caBundle } = await gate((question) => {
    questions.push(question);
    const cluster = recordAt(recordAt(question), "cluster")["name"];
    return denied.includes(cluster)
      ? { allowed: false, message: "orders fail" }
      : { allowed: true };
  });
  await scene().controller.stop();
  scene().controller = await scene().startController([`--check-source=${url}`]);
  const checks = [{ name: "gate", interval: "5s", webhook: { url, caBundle } }];
  const { rollout } = setOf("verified", {}).spec;
  const own = { ...rollout, progressDeadline: "10m", verify: { checks } };
  await hub.admin.create(setOf("verified", { ...versionTemplate("1.22"), rollout: own }));
  await phase(hub, "verified", "Complete");
  for (const { namespace, name } of profiles) {
    const set = { kind: "KnativeEventingSet", name: "verified" };
    expect(questions).toContainEqual(
      expect.objectContaining({ set: expect.objectContaining(set), cluster: { namespace, name } }),
    );
  }

  denied.push(canary?.name);
  await hub.admin.patch(setKey("verified"), { spec: versionTemplate("1.23") });
  const halted = await phase(hub, "verified", "Halted");
  expect(notable(halted)).toMatchObject({
    cluster: `fleet/${canary?.name}`,
    reason: "CheckFailed",
    message: "Check gate: orders fail",
  });
}, 240_000);
