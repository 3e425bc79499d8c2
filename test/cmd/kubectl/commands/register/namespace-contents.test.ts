import { expect, test } from "vitest";

import { connectHub } from "../../../../../access/hub/hub.ts";
import { systemClock } from "../../../../../access/time/system-clock.ts";
import {
  readContents,
  whyItStays,
} from "../../../../../cmd/kubectl/commands/register/namespace-contents.ts";
import { startStubHub } from "../../stub-hub.ts";

test("a namespace stays when the answer to discovery does not say what the cluster serves", async () => {
  const old: Readonly<Record<string, unknown>> = {
    "/api": { kind: "APIVersions", versions: ["v1"] },
    "/apis": { kind: "APIGroupList", apiVersion: "v1", groups: [] },
  };
  await using stub = await startStubHub([], ({ path }) =>
    old[path] === undefined ? undefined : { body: old[path] },
  );
  await using hub = await connectHub({
    clock: systemClock,
    environment: stub.env,
    userAgent: "test",
  });
  const target = { client: hub.client, timeoutMs: 10_000, signal: undefined };
  expect(whyItStays("knfleet", await readContents("knfleet", target))).toBe(
    "Namespace knfleet of the cluster stays: could not list /api, /apis",
  );
});
