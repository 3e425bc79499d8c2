import { expect, test } from "vitest";

import { conditionOf } from "../../../api/conditions.ts";
import { steering } from "../../../api/fleet-set.ts";
import { apiError } from "../../support/api-error.ts";
import { hubWith, rollout, SetHub } from "./set-hub.ts";

const quota = apiError(
  403,
  "Forbidden",
  'controllerrevisions.apps "prod" is forbidden: exceeded quota: few, requested: count/controllerrevisions.apps=1',
);
const denied = apiError(
  403,
  "Forbidden",
  'admission webhook "policy.example.com" denied the request: no status today\u001b[31m',
);

/** The name that the first revision of the set has on every hub. */
async function firstRevision(): Promise<string> {
  const { hub } = await hubWith(["a"]);
  return hub.revisions()[0]?.metadata.name ?? "";
}

const conditionsOf = (hub: SetHub, key: string) => hub.set(key).status?.conditions;

test("a set whose revision the hub refuses says so in an Event and in its conditions, until it is taken", async () => {
  const hub = new SetHub();
  hub.putProfile("a");
  const key = hub.putSet({ rollout });
  hub.faults.push({ verb: "create", name: await firstRevision(), error: quota });
  await expect(hub.look(key)).rejects.toBe(quota);
  const message = `The hub does not take the revision of the set: ${quota.message}`;
  expect(hub.events).toEqual([{ type: "Warning", reason: "WriteRefused", message }]);
  const told = { status: "False", reason: "WriteRefused", message };
  expect(conditionOf(conditionsOf(hub, key), "Progressing")).toMatchObject(told);
  expect(conditionOf(conditionsOf(hub, key), "Ready")).toMatchObject(told);
  expect(conditionOf(conditionsOf(hub, key), "Stalled")).toMatchObject({ reason: "WriteRefused" });
  expect(hub.set(key).status).toMatchObject({
    observedGeneration: 1,
    rollout: { phase: "Blocked", waitingFor: message },
  });

  hub.writes.length = 0;
  await expect(hub.look(key)).rejects.toBe(quota);
  expect(hub.writes).toEqual([]);

  hub.faults.length = 0;
  await hub.look(key);
  expect(hub.names()).toEqual(["prod-a"]);
  expect(hub.set(key).status?.rollout).toMatchObject({ phase: "Rolling" });
  expect(JSON.stringify(conditionsOf(hub, key))).not.toContain("WriteRefused");
});

test("words of a refusal that differ each time do not write the status each time", async () => {
  const hub = new SetHub();
  hub.putProfile("a");
  const key = hub.putSet({ rollout });
  const name = await firstRevision();
  for (const request of ["first", "second"]) {
    hub.writes.length = 0;
    hub.faults.splice(0, 1, {
      verb: "create",
      name,
      error: apiError(403, "Forbidden", `denied, request ${request}`),
    });
    // oxlint-disable-next-line no-await-in-loop -- one look after another
    await expect(hub.look(key)).rejects.toThrow(request);
    expect(hub.events.at(-1)?.message).toContain(request);
  }
  expect(hub.writes).toEqual([]);
});

test("a set whose status the hub refuses says so in an Event, in clean words", async () => {
  const hub = new SetHub();
  hub.putProfile("a");
  const key = hub.putSet({ rollout });
  hub.faults.push({ verb: "replace", name: "prod", error: denied });
  await expect(hub.look(key)).rejects.toBe(denied);
  expect(hub.set(key).status).toBeUndefined();
  const [event] = hub.events;
  expect(event).toMatchObject({ type: "Warning", reason: "WriteRefused" });
  expect(event?.message).toMatch(
    /^The hub does not take the status of the set: admission webhook "policy\.example\.com" denied the request: no status today/,
  );
  expect(event?.message).not.toContain("\u001b");
});

test("a set that may not be changed itself says so, too", async () => {
  const { hub, key } = await hubWith(["a"]);
  const revision = hub.set(key).status?.updateRevision ?? "";
  hub.annotate(key, steering.retry, revision);
  hub.faults.push({ verb: "patch", name: "prod", error: denied });
  await expect(hub.look(key)).rejects.toBe(denied);
  expect(hub.events.at(-1)?.message).toMatch(/^The hub does not take the set: /);
  expect(conditionOf(conditionsOf(hub, key), "Progressing")?.reason).toBe("WriteRefused");
});

test("a revision is tried again once for each wish, also while the hub does not let the wish go", async () => {
  const { hub, key } = await hubWith(["a"]);
  const name = hub.set(key).status?.updateRevision ?? "";
  const wish = async (): Promise<void> => {
    hub.annotate(key, steering.retry, name);
    for (const _look of ["first", "second"]) {
      hub.faults.splice(0, 1, { verb: "patch", name: "prod", error: denied });
      // oxlint-disable-next-line no-await-in-loop -- one look after another
      await expect(hub.look(key)).rejects.toBe(denied);
    }
    hub.faults.length = 0;
    await hub.look(key);
  };
  const marks = () => hub.writes.filter((write) => write === `patch ${name}`).length;
  await wish();
  expect([marks(), hub.set(key).metadata.annotations?.[steering.retry]]).toEqual([1, undefined]);
  await wish();
  expect(marks()).toBe(2);
});

test("components that the hub refuses with the same words are one Event", async () => {
  const hub = new SetHub();
  for (const name of ["a", "b", "c"]) hub.putProfile(name);
  const key = hub.putSet({ rollout });
  const silent = apiError(500, "InternalError", 'failed calling webhook "policy.example.com": EOF');
  hub.faults.push({ verb: "apply", name: "prod-a", error: denied });
  hub.faults.push({ verb: "apply", name: "prod-b", error: denied });
  hub.faults.push({ verb: "apply", name: "prod-c", error: silent });
  await expect(hub.look(key)).rejects.toBe(silent);
  const refusals = hub.events.filter(({ reason }) => reason === "WriteRefused");
  expect(refusals.map(({ message }) => message)).toEqual([
    expect.stringMatching(/^The hub does not take the component for fleet\/a, fleet\/b: admission/),
    expect.stringMatching(/^The hub does not take the component for fleet\/c: failed calling/),
  ]);
});
