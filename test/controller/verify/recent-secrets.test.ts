import { expect, test } from "vitest";

import { knownResource } from "../../../api/resources.ts";
import { recentSecrets } from "../../../controller/verify/recent-secrets.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { MemoryHub } from "../../support/memory-hub.ts";

const { signal } = new AbortController();
const resource = knownResource("v1", "Secret");

test("a Secret is read again after ten seconds, and one that is missing or cannot be read each time", async () => {
  const hub = new MemoryHub();
  const clock = new FakeClock();
  const secrets = recentSecrets(hub, clock);
  const read = (name = "gate", namespace = "platform") =>
    secrets.get({ resource, namespace, name }, {}, signal);
  expect(await read()).toBeUndefined();
  hub.edit("Secret", "gate", { data: { token: "b25l" } });
  expect(await read()).toMatchObject({ data: { token: "b25l" } });
  hub.edit("Secret", "gate", { data: { token: "dHdv" } });
  await clock.advance(9_999);
  expect(await read()).toMatchObject({ data: { token: "b25l" } });
  expect(hub.requests).toBe(2);
  await clock.advance(1);
  expect(await read()).toMatchObject({ data: { token: "dHdv" } });
  // Of another namespace it is another one.
  await read("gate", "other");
  expect(hub.requests).toBe(4);
  hub.fail();
  await clock.advance(10_000);
  await expect(read()).rejects.toMatchObject({ status: 500 });
  hub.work();
  expect(await read()).toMatchObject({ data: { token: "dHdv" } });
});
