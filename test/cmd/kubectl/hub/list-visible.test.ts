import { expect, test } from "vitest";

import { connectHub } from "../../../../access/hub/hub.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import { listVisibleComponents } from "../../../../cmd/kubectl/findings/checks/hub-checks.ts";
import { startStubHub } from "../stub-hub.ts";

const { signal } = new AbortController();

/** The components of a hub that answers to every list with this status. */
async function listed(status: number) {
  const body = { kind: "Status", apiVersion: "v1", code: status, message: "no" };
  await using stub = await startStubHub([], () => ({ status, body }));
  await using hub = await connectHub({
    clock: systemClock,
    environment: stub.env,
    userAgent: "test",
  });
  return await listVisibleComponents({ hub: hub.client }, signal);
}

test("a kind that the hub does not serve has no objects, and no right is missing", async () =>
  expect(await listed(404)).toEqual({ components: [], denied: [] }));

test("a list that is forbidden names the right that is missing", async () => {
  const right = { verb: "list", group: "operator.knative.dev" };
  expect(await listed(403)).toEqual({
    components: [],
    denied: [
      { ...right, resource: "knativeservings" },
      { ...right, resource: "knativeeventings" },
    ],
  });
});

test("every other failure is one of the command", async () =>
  await expect(listed(418)).rejects.toThrow("no"));
