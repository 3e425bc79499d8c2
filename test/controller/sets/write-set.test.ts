import { describe, expect, test } from "vitest";

import { type FleetSet, steering } from "../../../api/fleet-set.ts";
import { RecentWrites } from "../../../controller/sets/recent-writes.ts";
import { SetWriter } from "../../../controller/sets/write-set.ts";
import { SetHub } from "./set-hub.ts";

const approvals = { [`${steering.approve}canary-after`]: "prod-1 alice" };
const steered = { ...approvals, [steering.retry]: "prod-1", [steering.acceptSelection]: "hash" };
const finalizer = "knfleet.dev/fleet-set";
const status = { updateRevision: "prod-1" };
const { signal } = new AbortController();

/** A hub with a set that has what all writes change, and a writer for it. */
function stage() {
  const hub = new SetHub();
  const key = hub.putSet({}, { annotations: { ...steered, note: "mine" } });
  const recent = new RecentWrites<FleetSet>();
  const writer = new SetWriter({ client: hub.client, clock: hub.clock, recent });
  return { hub, key, recent, writer };
}

interface Row {
  readonly name: string;
  readonly write: (writer: SetWriter, set: FleetSet) => Promise<unknown>;
  /** What is different afterwards. */
  readonly metadata?: Partial<FleetSet["metadata"]>;
  readonly status?: object;
}

function without(...names: readonly string[]): Readonly<Record<string, string>> {
  const all = Object.entries({ ...steered, note: "mine" });
  return Object.fromEntries(all.filter(([name]) => !names.includes(name)));
}

const rows: readonly Row[] = [
  {
    name: "its finalizer",
    write: (writer, set) => writer.hold(set, signal),
    metadata: { finalizers: [finalizer] },
  },
  {
    name: "the wish to try again",
    write: (writer, set) => writer.dropRetry(set, signal),
    metadata: { annotations: without(steering.retry) },
  },
  {
    name: "its approvals",
    write: (writer, set) => writer.dropApprovals(set, signal),
    metadata: { annotations: without(...Object.keys(approvals)) },
  },
  {
    name: "the acceptance of its selection",
    write: (writer, set) => writer.dropAcceptance(set, signal),
    metadata: { annotations: without(steering.acceptSelection) },
  },
  { name: "its status", write: (writer, set) => writer.report(set, status, signal), status },
];

describe("a write of a set", () => {
  test.each(rows)("changes $name and nothing else, and counts at once", async (row) => {
    const { hub, key, recent, writer } = stage();
    const set = hub.set(key);
    await row.write(writer, set);
    const { resourceVersion } = hub.set(key).metadata;
    const metadata = { ...set.metadata, ...row.metadata, resourceVersion };
    const { status: told } = row;
    expect(hub.set(key)).toEqual({ ...set, metadata, ...(told === undefined ? {} : { status }) });
    expect(recent.newest(key, set, hub.clock.now())).toEqual(hub.set(key));
    expect(hub.writes).toHaveLength(1);
  });

  test.each(rows)("that somebody has changed meanwhile fails for $name", async ({ write }) => {
    const { hub, key, writer } = stage();
    const set = hub.set(key);
    hub.annotate(key, steering.retry, "prod-2");
    const stored = hub.set(key);
    await expect(write(writer, set)).rejects.toMatchObject({ status: 409 });
    expect(hub.set(key)).toEqual(stored);
  });

  test.each<Row>([
    { name: "a finalizer that it has", write: (writer, set) => writer.hold(set, signal) },
    {
      name: "its approvals when it has none",
      write: (writer, set) => writer.dropApprovals(set, signal),
    },
    { name: "the status that it has", write: (writer, set) => writer.report(set, status, signal) },
  ])("is not sent for $name", async ({ write }) => {
    const { hub, key, writer } = stage();
    const set = hub.set(key);
    const metadata = { ...set.metadata, annotations: {}, finalizers: [finalizer] };
    await write(writer, { ...set, metadata, status });
    expect(hub.writes).toEqual([]);
  });
});

test.each([
  { name: "keeps the finalizers of others", has: ["other", finalizer], left: ["other"], writes: 1 },
  { name: "without the finalizer is not written", has: ["other"], left: ["other"], writes: 0 },
  { name: "without finalizers is not written", has: undefined, left: undefined, writes: 0 },
])("a set that is let go and $name", async ({ has, left, writes }) => {
  const { hub, writer } = stage();
  const key = hub.putSet({}, has === undefined ? {} : { finalizers: has });
  await writer.release(hub.set(key), signal);
  expect(hub.set(key).metadata.finalizers).toEqual(left);
  expect(hub.writes).toHaveLength(writes);
});
