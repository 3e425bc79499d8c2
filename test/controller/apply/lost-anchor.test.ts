import { expect, test } from "vitest";

import { createKubeClient } from "../../../access/create-kube-client.ts";
import { FleetError } from "../../../api/errors.ts";
import { isRecord } from "../../../api/fields.ts";
import type { InstallDeps } from "../../../controller/apply/install-work.ts";
import { install } from "../../../controller/apply/install.ts";
import { InstallationMemory } from "../../../controller/apply/installation-memory.ts";
import { Preparations } from "../../../controller/apply/prepare.ts";
import { systemClock } from "../../../controller/clock.ts";
import { observe } from "../../../controller/observe/observe.ts";
import { startApiStub, type StubAnswer, type StubRequest } from "../../access/api-stub.ts";
import { requesterTo, serverIdentity, untilTheEnd } from "../../access/loopback.ts";
import { serving } from "../../support/component.ts";
import { silentLog } from "../../support/silent-log.ts";
import { manifestOf } from "./prepared.ts";
import { renderedOf } from "./small-set.ts";

const signal = AbortSignal.timeout(600_000);
const component = serving({ status: { version: "1.23.0" } });
const { namespace, uid } = component.metadata;
const roots = `/api/v1/namespaces/${namespace}/configmaps`;
const rendered = renderedOf(manifestOf(`v1 ConfigMap ${namespace}/a`));

function json(body: object, status = 200): StubAnswer {
  return { status, body: JSON.stringify(body) };
}

function refusal(code: number, reason: string): StubAnswer {
  return json({ kind: "Status", apiVersion: "v1", code, reason, message: "no" }, code);
}

/** A spoke that has a namespace and nothing in it; POST of a root does what `onRoot` says, and no object is accepted. */
function emptySpoke(onRoot: (body: unknown) => StubAnswer) {
  return ({ method, path, body }: StubRequest): StubAnswer => {
    const metadata = { name: namespace, uid: "n", resourceVersion: "1" };
    if (method === "DELETE") return json({ kind: "List", metadata: {}, items: [] });
    if (method === "POST" && path.startsWith(roots)) return onRoot(JSON.parse(body));
    if (method !== "GET") return refusal(403, "Forbidden");
    if (path.includes("watch=true")) return watched();
    if (path === `/api/v1/namespaces/${namespace}`) {
      return json({ apiVersion: "v1", kind: "Namespace", metadata });
    }
    if (path.startsWith(`${roots}/`)) return refusal(404, "NotFound");
    return json({ kind: "List", metadata: { resourceVersion: "1" }, items: [] });
  };
}

/** An empty list, and nothing after it. */
function watched(): StubAnswer {
  const annotations = { "k8s.io/initial-events-end": "true" };
  const object = { metadata: { resourceVersion: "1", annotations } };
  return { body: `${JSON.stringify({ type: "BOOKMARK", object })}\n`, open: true };
}

function stored(body: unknown): StubAnswer {
  const root = isRecord(body) ? body : {};
  const metadata = isRecord(root["metadata"]) ? root["metadata"] : {};
  return json({ ...root, metadata: { ...metadata, uid: "root", resourceVersion: "2" } }, 201);
}

/** Attempts to install on a spoke that has lost the anchor, and what they did. */
async function attempts(
  onRoot: (body: unknown) => StubAnswer,
  deps: Pick<InstallDeps, "assertFirst"> = {},
) {
  const answer = emptySpoke(onRoot);
  const api = untilTheEnd(await startApiStub({ identity: serverIdentity, answer }));
  const client = createKubeClient(requesterTo(api));
  const fieldManager = "knfleet-hub-a";
  const profile = { namespace: "fleet", name: "spoke-1" };
  const target = { client, namespace, fieldManager, hubId: "hub-a", profile };
  const options = { client, componentUid: uid, fieldManager, log: silentLog };
  const observation = untilTheEnd(observe({ ...options, onChange: () => undefined }));
  const memory = new InstallationMemory();
  let told = 0;
  const onAnchorLost = (): void => {
    told += 1;
  };
  const attempt = (): Promise<unknown> =>
    install(
      { component, rendered, target, observation, memory },
      {
        log: silentLog,
        clock: systemClock,
        preparations: new Preparations(),
        onAnchorLost,
        ...deps,
      },
      signal,
    ).catch((error: unknown) => error);
  const dropped = (): number =>
    api.requests.filter(({ method, path }) => method === "DELETE" && path.includes("webhook"))
      .length;
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
