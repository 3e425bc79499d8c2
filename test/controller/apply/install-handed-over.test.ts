import { expect, test } from "vitest";

import { component, json } from "./bare-spoke.ts";
import { manifestOf } from "./prepared.ts";
import { renderedOf } from "./small-set.ts";
import { entryOf, liveOf, type Own, standingInstaller } from "./standing-spoke.ts";

const { namespace } = component.metadata;
const adapter = manifestOf(`apps/v1 Deployment ${namespace}/pingsource-mt-adapter`, {
  spec: { replicas: 0, paused: false },
});
const paths = { "f:replicas": {}, "f:paused": {} };
const before: Own = { fieldsV1: { "f:spec": paths }, time: "2026-01-01T00:00:00Z" };

const later = "2026-01-02T00:00:00Z";
const rest: Own = { ...before, fieldsV1: { "f:spec": { "f:paused": {} } } };
const { name } = adapter.metadata;

interface Found {
  /** Fields of ours that the watch shows. */
  readonly seen: Own;
  /** The same of the answer to the apply. */
  readonly answered: Own;
  /** Default: as the watch shows it. */
  readonly read?: Own;
  readonly answeredVersion?: string;
}

/** An installer that sent the adapter before, and what it finds of it. */
function installerOver({ seen, answered, read = seen, answeredVersion = "11" }: Found) {
  const { fieldsV1 } = before;
  const theirs = [{ manager: "eventing-controller", operation: "Update", fieldsV1 }];
  const answer = liveOf(adapter, answered, theirs);
  const metadata = { ...answer.metadata, resourceVersion: answeredVersion };
  const path = `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`;
  return standingInstaller({
    entries: [entryOf(adapter, before)],
    objects: { deployments: [liveOf(adapter, seen, theirs)] },
    answer: (request) => {
      if (!request.path.startsWith(path)) return undefined;
      return json(
        request.method === "GET" ? liveOf(adapter, read, theirs) : { ...answer, metadata },
      );
    },
  });
}

const rendered = renderedOf(adapter);

test("that a controller took over what is handed to it is no repair", async () => {
  const { attempt } = await installerOver({ seen: rest, answered: rest });
  expect(await attempt({ rendered })).toMatchObject({ applied: [{ name }], repaired: [] });
});

test("that somebody took more than what is handed over is one", async () => {
  const seen: Own = { ...before, fieldsV1: { "f:spec": { "f:other": {} } } };
  const { attempt } = await installerOver({ seen, answered: { ...rest, time: later } });
  expect(await attempt({ rendered })).toMatchObject({ repaired: [{ name }] });
});

test("that a late write of ours was put right beside a hand-over is one", async () => {
  const { attempt } = await installerOver({ seen: rest, answered: { ...rest, time: later } });
  expect(await attempt({ rendered })).toMatchObject({ repaired: [{ name }] });
});

test("hand-overs are no rounds of a contest", async () => {
  const other: Own = { ...before, fieldsV1: { "f:spec": { "f:paused": {}, "f:strategy": {} } } };
  // As a watch that shows nothing of the answers, so that each attempt finds another hand-over.
  const old = { answered: other, read: other, answeredVersion: "9" };
  const { attempt } = await installerOver({ seen: rest, ...old });
  for (let round = 1; round <= 4; round += 1) {
    const changes = await attempt({ rendered });
    expect(changes).toMatchObject({ applied: [{ name }], repaired: [], conflicts: [] });
  }
});
