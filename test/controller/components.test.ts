import { expect, onTestFinished, test } from "vitest";

import type { KubeClient, WatchEvent } from "../../access/kube/kube-client.ts";
import type { Component } from "../../api/component.ts";
import { Components } from "../../controller/components.ts";
import { serving } from "../support/component.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { MemoryHub } from "../support/memory-hub.ts";
import { silentLog } from "../support/silent-log.ts";
import { never } from "./idle-controller.ts";

const version = { "f:spec": { "f:version": {} } };
const managedFields = [
  { manager: "knfleet-set", fieldsV1: version },
  { manager: "kubectl-edit", time: "2026-01-01T00:00:00Z", fieldsV1: { ...version, "f:a": {} } },
  { manager: "knfleet-controller", subresource: "status", fieldsV1: version },
  { manager: "labeller", fieldsV1: { "f:metadata": {} } },
];

function ignore(): void {}

test("a bug of who is told of components is logged as one, and not as a failure to watch the hub", async () => {
  const hub = new MemoryHub();
  const component = serving();
  hub.edit("KnativeServing", component.metadata.name, component);
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const lines: unknown[] = [];
  const logged = (fields: object, message: string): void => void lines.push({ message, ...fields });
  const log = { ...silentLog, warn: logged, error: logged };
  const bug = new TypeError("undefined is not a function");
  const onChange = (): void => {
    throw bug;
  };
  const options = { client: hub, clock: new FakeClock(), log, onChange, onDelete: ignore };
  void new Components(options, stop.signal);
  await expect
    .poll(() => lines)
    .toEqual([{ message: "A watch has a bug", kind: "KnativeServing", err: bug }]);
});

/** The component of a hub as it is kept. */
async function kept(labels: Readonly<Record<string, string>>) {
  const hub = new MemoryHub();
  const component = serving({ metadata: { labels, managedFields } });
  hub.edit("KnativeServing", component.metadata.name, component);
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const options = { client: hub, clock: new FakeClock(), log: silentLog };
  const components = new Components(
    { ...options, onChange: ignore, onDelete: ignore },
    stop.signal,
  );
  await expect.poll(() => [...components.all()].length).toBe(1);
  return [...components.all()][0]?.metadata.managedFields;
}

test("of a set's component it is kept who else wrote its spec, and nothing more", async () => {
  expect(await kept({ "knfleet.dev/set": "prod" })).toEqual([
    { manager: "kubectl-edit", time: "2026-01-01T00:00:00Z", fieldsV1: version },
  ]);
});

test("of other components no field managers are kept", async () => {
  expect(await kept({})).toBeUndefined();
});

const a = { clusterProfileRef: { namespace: "fleet", name: "a" } };
const b = { clusterProfileRef: { namespace: "fleet", name: "b" } };

/** A component of a name, for a cluster. */
function made(name: string, uid: string, spec = a, resourceVersion = "1"): Component {
  const metadata = { namespace: name, name: "knative-serving", uid, resourceVersion };
  return serving({ metadata, spec });
}

/** What `Components` tells of these events, and what it holds after them. */
async function after(events: readonly WatchEvent[]) {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  async function* watch(
    ...[{ resource }, , signal]: Parameters<KubeClient["watch"]>
  ): AsyncGenerator<WatchEvent> {
    if (resource.kind === "KnativeServing") yield* events;
    yield { type: "BOOKMARK", resourceVersion: "9", initialEventsEnd: true };
    await never(signal);
  }
  const told: string[] = [];
  const tell = (verb: string, { metadata: { uid } }: Component): void =>
    void told.push(`${verb} ${uid}`);
  const client = { watch, list: () => Promise.reject(new Error("no list")) };
  const components = new Components(
    {
      client,
      clock: new FakeClock(),
      log: silentLog,
      onChange: (one, before) => tell(before === undefined ? "add" : "change", one),
      onDelete: (one) => tell("delete", one),
    },
    stop.signal,
  );
  await components.synced();
  return { told, components };
}

const added = (object: Component): WatchEvent => ({ type: "ADDED", object });

test("the components of a cluster are found by it", async () => {
  const { components } = await after([
    added(made("one", "1")),
    added(made("two", "2")),
    added(made("three", "3", b)),
    { type: "DELETED", object: made("three", "3", b) },
  ]);
  expect([...components.of("fleet/a")].map(({ metadata: { uid } }) => uid)).toEqual(["1", "2"]);
  expect([...components.of("fleet/b")]).toEqual([]);
  expect([...components.targets()]).toEqual(["fleet/a"]);
  expect(components.isUsed("fleet/a")).toBe(true);
  expect(components.isUsed("fleet/b")).toBe(false);
});

test.each([
  { name: "uid", next: made("one", "2"), target: "fleet/a" },
  { name: "cluster", next: made("one", "1", b, "2"), target: "fleet/b" },
])("a component with another $name is another component", async ({ next, target }) => {
  const { told, components } = await after([
    added(made("one", "1")),
    { type: "MODIFIED", object: next },
  ]);
  expect(told).toEqual(["add 1", "delete 1", `add ${next.metadata.uid}`]);
  expect([...components.targets()]).toEqual([target]);
  expect([...components.of(target)]).toEqual([...components.all()]);
});
