import { expect, test } from "vitest";

import { FleetError } from "../../../api/errors.ts";
import { isRecord } from "../../../api/fields.ts";
import type { InstallDeps } from "../../../controller/apply/install-attempt.ts";
import type { StubAnswer } from "../../access/api-stub.ts";
import { bareInstaller, json, refusal, roots } from "./bare-spoke.ts";

function stored(body: unknown): StubAnswer {
  const root = isRecord(body) ? body : {};
  const metadata = isRecord(root["metadata"]) ? root["metadata"] : {};
  return json({ ...root, metadata: { ...metadata, uid: "root", resourceVersion: "2" } }, 201);
}

/** Attempts to install on a spoke that has lost the anchor, where POST of an anchor does what `onAnchor` says, and what they did. */
async function attempts(
  onAnchor: (body: unknown) => StubAnswer,
  deps: Pick<InstallDeps, "assertFirst"> = {},
) {
  const installer = await bareInstaller(({ method, path, body }) =>
    method === "POST" && path.startsWith(roots) ? onAnchor(JSON.parse(body)) : undefined,
  );
  let told = 0;
  const onAnchorLost = (): void => {
    told += 1;
  };
  const attempt = (): Promise<unknown> =>
    installer.attempt({ onAnchorLost, ...deps }).catch((error: unknown) => error);
  const dropped = (): number =>
    installer.api.requests.filter(
      ({ method, path }) => method === "DELETE" && path.includes("webhook"),
    ).length;
  return { attempt, done: () => [told, dropped()] };
}

test("a lost anchor that cannot be made again is told of once, and the next one again", async () => {
  let mayMake = false;
  const { attempt, done } = await attempts((body) =>
    mayMake ? stored(body) : refusal(403, "Forbidden"),
  );
  for (let number = 1; number <= 3; number += 1) {
    expect(await attempt()).toMatchObject({ status: 403 });
  }
  expect(done()).toEqual([1, 2]);

  mayMake = true;
  expect(await attempt()).toMatchObject({ failed: [expect.anything()] });
  expect(done()).toEqual([1, 2]);

  mayMake = false;
  await attempt();
  await attempt();
  expect(done()).toEqual([2, 4]);
});

test("a lost anchor that is withdrawn whenever it was made again, as somebody else was first, is told of once", async () => {
  const theirs = new FleetError("AnchorConflict", "Somebody else has the cluster by now");
  const { attempt, done } = await attempts(stored, { assertFirst: () => Promise.reject(theirs) });
  for (let number = 1; number <= 3; number += 1) expect(await attempt()).toBe(theirs);
  expect(done()).toEqual([1, 2]);
});
