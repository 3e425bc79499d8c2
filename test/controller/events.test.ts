import { beforeEach, expect, test } from "vitest";

import { EventRecorder, EventCorrelator, type EventSubject } from "../../controller/events.ts";
import { serving } from "../support/component.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { lieIn, lyingText } from "../support/lying-text.ts";
import { MemoryHub } from "../support/memory-hub.ts";
import { silentLog } from "../support/silent-log.ts";
import { apiError } from "./observe/scripted-watches.ts";

const { signal } = new AbortController();
const ready = {
  type: "Normal",
  reason: "Ready",
  message: "All Deployments are available",
} as const;
const component = serving();

let hub: MemoryHub;
let clock: FakeClock;
let recorder: EventRecorder;

beforeEach(() => {
  hub = new MemoryHub();
  clock = new FakeClock();
  recorder = new EventRecorder({ client: hub, clock, log: silentLog });
});

test("an Event names its component and comes from where upstream's come from", async () => {
  await recorder.record(component, ready, signal);
  expect(hub.all("Event")).toEqual([
    expect.objectContaining({
      involvedObject: expect.objectContaining({
        kind: "KnativeServing",
        name: "knative-serving",
        uid: component.metadata.uid,
      }),
      source: { component: "knativeserving-controller" },
      type: "Normal",
      reason: "Ready",
      count: 1,
    }),
  ]);
});

test("an Event on a component with a long name has a name that an Event can have", async () => {
  const name = `${"a".repeat(198)}-.${"b".repeat(20)}`;
  await recorder.record(serving({ metadata: { name } }), ready, signal);
  const [event] = hub.all("Event");
  expect(event?.metadata.name).toMatch(/^a{198}\.[0-9a-f]{16}$/);
});

test("what is said again is counted up", async () => {
  await recorder.record(component, ready, signal);
  await clock.advance(60_000);
  await recorder.record(component, ready, signal);
  expect(hub.all("Event")).toEqual([
    expect.objectContaining({ count: 2, lastTimestamp: "2026-01-01T00:01:00Z" }),
  ]);
});

test("what another process said before is counted up, too", async () => {
  await recorder.record(component, ready, signal);
  await recorder.record(component, ready, signal);
  const second = new EventRecorder({ client: hub, clock, log: silentLog });
  await second.record(component, ready, signal);
  await second.record(component, ready, signal);
  expect(hub.all("Event")).toEqual([expect.objectContaining({ count: 4 })]);
});

test("another component of the same name has Events of its own", async () => {
  await recorder.record(component, ready, signal);
  await recorder.record(serving({ metadata: { uid: "another" } }), ready, signal);
  expect(hub.all("Event")).toHaveLength(2);
});

test("messages that never end are one Event with the latest of them", async () => {
  for (let count = 0; count < 15; count += 1) {
    await recorder.record(component, { ...ready, message: `Number ${count}` }, signal);
  }
  const events = hub.all("Event");
  expect(events).toHaveLength(11);
  expect(events.at(-1)).toMatchObject({
    count: 5,
    message: "(combined from similar events): Number 14",
  });
});

test("an Event that is gone is made anew", async () => {
  await recorder.record(component, ready, signal);
  const [event] = hub.all("Event");
  hub.drop("Event", event?.metadata.name ?? "");
  await recorder.record(component, ready, signal);
  expect(hub.all("Event")).toEqual([expect.objectContaining({ count: 1 })]);
});

test("a hub that refuses Events does not fail the work", async () => {
  hub.fail();
  await expect(recorder.record(component, ready, signal)).resolves.toBeUndefined();
});

test("what has to be on record is written although there were too many Events before", async () => {
  for (let count = 0; count < 30; count += 1) {
    await recorder.record(component, { ...ready, reason: `Reason${count}` }, signal);
  }
  expect(hub.all("Event")).toHaveLength(25);
  const message = "x".repeat(2_000);
  await recorder.audit(component, { type: "Warning", reason: "Orphaned", message }, signal);
  expect(hub.all("Event").at(-1)).toMatchObject({ reason: "Orphaned", message: "x".repeat(1_024) });
});

/** One more failure of a component that has had too many Events. */
const failure = (message: string) => ({ type: "Warning", reason: "ApplyFailed", message }) as const;

async function exhaust(): Promise<void> {
  for (let count = 0; count < 30; count += 1) {
    await recorder.record(component, { ...ready, reason: `Reason${count}` }, signal);
  }
}

test("the newest failure of a component with too many Events is an Event, within a minute", async () => {
  await exhaust();
  await recorder.record(component, failure("first"), signal);
  expect(hub.all("Event").at(-1)).toMatchObject({ message: expect.stringMatching(/: first$/) });
  for (let count = 0; count < 100; count += 1) {
    await recorder.record(component, failure(`failure ${count}`), signal);
  }
  expect(hub.all("Event").at(-1)).toMatchObject({ count: 1 });
  await clock.advance(60_000);
  expect(hub.all("Event")).toHaveLength(26);
  expect(hub.all("Event").at(-1)).toMatchObject({
    reason: "ApplyFailed",
    count: 2,
    message: "(combined from similar events): failure 99",
  });
  await clock.advance(60_000);
  expect(clock.pending).toBe(0);
  expect(hub.all("Event").at(-1)).toMatchObject({ count: 2 });
});

test("a failure that waits is not written after a newer one", async () => {
  await exhaust();
  await recorder.record(component, failure("first"), signal);
  await clock.advance(299_000);
  await recorder.record(component, failure("second"), signal);
  await recorder.record(component, failure("third"), signal);
  await clock.advance(1_000);
  await recorder.record(component, { ...failure("last"), reason: "AnchorLost" }, signal);
  expect(hub.all("Event").at(-1)).toMatchObject({ reason: "AnchorLost", message: "last" });
  await clock.advance(120_000);
  const said = hub.all("Event").map(({ message }) => message);
  expect(said).not.toContain("(combined from similar events): third");
});

test("nothing waits for what is no failure, and nothing is written for a part that has ended", async () => {
  const stop = new AbortController();
  recorder = new EventRecorder({ client: hub, clock, log: silentLog, signal: stop.signal });
  await exhaust();
  await recorder.record(component, { ...ready, reason: "Repaired" }, signal);
  expect(clock.pending).toBe(0);
  await recorder.record(component, failure("first"), signal);
  await recorder.record(component, failure("second"), signal);
  stop.abort();
  await clock.advance(600_000);
  expect(hub.all("Event").at(-1)).toMatchObject({ count: 1 });
  expect(clock.pending).toBe(0);
});

test("what has to be on record fails when it cannot be written for a while", async () => {
  hub.fail();
  await expect(recorder.audit(component, ready, signal)).rejects.toThrow("InternalError");
  hub.work();
  await recorder.audit(component, ready, signal);
  expect(hub.all("Event")).toHaveLength(1);
});

test("what has to be on record is written although the hub deletes the old Event meanwhile", async () => {
  await recorder.record(component, ready, signal);
  const [event] = hub.all("Event");
  // Another process, which does not know the Event and counts it up.
  const client = {
    get: hub.get,
    create: hub.create,
    patch: async (...given: Parameters<typeof hub.patch>) => {
      hub.drop("Event", event?.metadata.name ?? "");
      return hub.patch(...given);
    },
  };
  const other = new EventRecorder({ client, clock, log: silentLog });
  await other.audit(component, ready, signal);
  expect(hub.all("Event")).toEqual([expect.objectContaining({ count: 1 })]);
});

const terminating =
  'events is forbidden: unable to create new content in namespace "a" because it is being terminated';

/** A hub that answers every request so, and the warnings of a recorder over it. */
function refusing(status: number, message: string) {
  const answer = (): Promise<never> => Promise.reject(apiError(status, message));
  const lines: object[] = [];
  const warn = (fields: object): void => void lines.push(fields);
  const client = { get: answer, create: answer, patch: answer };
  const told = new EventRecorder({ client, clock, log: { ...silentLog, warn } });
  return { told, lines };
}

// Who follows the component in the log has to find it.
const line = {
  component: "KnativeServing knative-serving/knative-serving",
  uid: component.metadata.uid,
  reason: "Ready",
};

test.each([
  { name: "gone", status: 404, message: 'namespaces "a" not found' },
  { name: "being deleted", status: 403, message: terminating },
])(
  "what has to be on record is dropped with a line in the log where the namespace is $name",
  async ({ status, message }) => {
    const { told, lines } = refusing(status, message);
    await expect(told.audit(component, ready, signal)).resolves.toBeUndefined();
    expect(lines).toMatchObject([line]);
  },
);

test.each([
  { name: "a right is missing", message: 'events is forbidden: User "x" cannot create' },
  { name: "a quota is exhausted", message: "forbidden: exceeded quota: events" },
  {
    name: "a webhook says what a namespace would",
    message: `admission webhook "a.example.test" denied the request: ${terminating}`,
  },
])(
  "what has to be on record is tried again where $name, which the log says once",
  async ({ message }) => {
    const { told, lines } = refusing(403, message);
    for (let times = 0; times < 3; times += 1) {
      await expect(told.audit(component, ready, signal)).rejects.toThrow(message);
    }
    expect(lines).toMatchObject([line]);
    await expect(told.audit(component, failure("a"), signal)).rejects.toThrow(message);
    expect(lines).toHaveLength(2);
  },
);

function ofUid(uid: string): EventSubject {
  return { ...component, metadata: { ...component.metadata, uid, name: uid } };
}

test("a failure that is forgotten for want of room is written, and its timer ends no later one's wait", async () => {
  const written: string[] = [];
  const note = async (name = "") => {
    if (name.startsWith("oldest.")) written.push(name);
    return component;
  };
  const client: ConstructorParameters<typeof EventRecorder>[0]["client"] = {
    get: async () => component,
    create: (_ref, { metadata: { name } }) => note(name),
    patch: ({ name }) => note(name),
  };
  const many = new EventRecorder({ client, clock, log: silentLog });
  const flood = async (uid: string): Promise<void> => {
    for (let count = 0; count < 25; count += 1) await many.record(ofUid(uid), ready, signal);
    await many.record(ofUid(uid), failure("first"), signal);
    await many.record(ofUid(uid), failure("second"), signal);
  };
  await flood("oldest");
  const before = written.length;
  for (let count = 0; count < 4_096; count += 1) await flood(`other-${count}`);
  expect(clock.pending).toBe(4_096);
  expect(written).toHaveLength(before + 1);
});

function admitted(
  correlator: EventCorrelator,
  messages: readonly string[],
  { uid = "a", now = 0 } = {},
): readonly string[] {
  return messages.flatMap((message) => {
    const event = { type: "Warning", reason: "ApplyFailed", message } as const;
    return correlator.admit(uid, event, now)?.message ?? [];
  });
}

const numbers = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `message ${index}`);

test("ten messages with one reason stand alone, more within ten minutes are combined", () => {
  const correlator = new EventCorrelator();
  expect(admitted(correlator, numbers(10))).toEqual(numbers(10));
  expect(admitted(correlator, ["more", "message 3"])).toEqual([
    "(combined from similar events): more",
    "message 3",
  ]);
  expect(admitted(correlator, ["more"], { now: 600_000 })).toEqual(["more"]);
});

test("a component gets 25 Events at once, and then one every five minutes", () => {
  const correlator = new EventCorrelator();
  const flood = Array.from({ length: 40 }, () => "again");
  expect(admitted(correlator, flood)).toHaveLength(25);
  expect(admitted(correlator, flood, { now: 299_000 })).toHaveLength(0);
  expect(admitted(correlator, flood, { now: 300_000 })).toHaveLength(1);
  expect(admitted(correlator, flood, { uid: "b", now: 300_000 })).toHaveLength(25);
});

test.each(["record", "audit"] as const)(
  "an Event is plain and short, whatever others said: %s",
  async (by) => {
    const annotations = { list: `a\n${lyingText}` };
    const message = `The server said ${lyingText}`;
    await recorder[by](component, { ...ready, message, annotations }, signal);
    const [event] = hub.all("Event");
    expect(event).toMatchObject({ message: expect.stringMatching(/^The server said red over/) });
    const text = JSON.stringify(event, (_, value: unknown) =>
      typeof value === "string" ? [value.length > 204_800, ...lieIn(value)] : value,
    );
    expect(text).not.toMatch(/U\+|true/);
    expect(event?.metadata.annotations?.["list"]).toMatch(/^a\n/);
  },
);

test.each([
  { what: "letters", list: "x".repeat(204_800), bytes: 204_800 },
  { what: "more letters than that", list: "x".repeat(300_000), bytes: 204_800 },
  { what: "letters of several bytes", list: "é".repeat(200_000), bytes: 204_800 },
])("an annotation has 200 KiB of $what", async ({ list, bytes }) => {
  await recorder.audit(component, { ...ready, annotations: { list } }, signal);
  const [event] = hub.all("Event");
  expect(Buffer.byteLength(event?.metadata.annotations?.["list"] ?? "")).toBe(bytes);
});

test("lies that only differ in what nobody sees are one Event", async () => {
  for (const hidden of ["", "\u200b", "\u202e", "\u001b[31m"]) {
    await recorder.record(component, { ...ready, message: `Told${hidden} twice` }, signal);
  }
  expect(hub.all("Event")).toEqual([expect.objectContaining({ count: 4 })]);
});
