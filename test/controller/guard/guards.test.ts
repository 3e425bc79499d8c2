import { expect, onTestFinished, test } from "vitest";

import { Guards } from "../../../controller/guard/guards.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { silentLog } from "../../support/silent-log.ts";
import { eventing } from "../hand-made-installation.ts";
import { MemorySpoke } from "./memory-spoke.ts";

const hubId = "0c3f6f52-1d3b-4f6e-9a44-0f0a4ad11c0e";

test("an attempt that comes to its guard when its connection has ended does not hide the guard of the next one", async () => {
  const clock = new FakeClock();
  const spoke = new MemorySpoke(hubId);
  const guards = new Guards({
    clock,
    log: silentLog,
    hubId,
    protection: "Policy",
    crds: false,
    onChange: () => undefined,
    onEvent: () => undefined,
  });
  const profile = { namespace: "fleet", name: "spoke-1" };
  const component = { ...eventing("knative"), spec: { clusterProfileRef: profile } };
  const protectOver = (connection: AbortController): void => {
    const client = spoke.clientOf("knfleet");
    const target = { client, profile, namespace: "knative", fieldManager: "knfleet-test", hubId };
    guards.protect(component, { target, signal: connection.signal });
  };
  const ended = new AbortController();
  ended.abort(new Error("The connection is closed"));
  const next = new AbortController();
  onTestFinished(() => next.abort(new Error("The test ends")));
  protectOver(next);
  protectOver(ended);
  await clock.advance(60_000);
  expect(guards.protectionOf(component)).toMatchObject({ reason: "Enforced" });
});
