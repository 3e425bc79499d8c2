import { expect, test, vi } from "vitest";

import type { KubeClient, WatchEvent } from "../../access/kube/kube-client.ts";
import { abortable } from "../../access/time/deadline.ts";
import { soleLeadership } from "../../controller/leader/leader.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { never, startIdle } from "./idle-controller.ts";

const listed: WatchEvent = { type: "BOOKMARK", resourceVersion: "9", initialEventsEnd: true };
const kubeSystem = {
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name: "kube-system", uid: "hub", resourceVersion: "1" },
};

/** The leader after another one, whose hub gives each list once before the leadership, and then when `answer` is called. */
async function newLeader() {
  const clock = new FakeClock();
  const second = Promise.withResolvers<void>();
  const lists = new Map<string, number>();
  async function* watch(
    ...[{ resource }, , signal]: Parameters<KubeClient["watch"]>
  ): AsyncGenerator<WatchEvent> {
    const { kind } = resource;
    const count = (lists.get(kind) ?? 0) + 1;
    lists.set(kind, count);
    if (count > 1) await abortable(second.promise, signal);
    yield listed;
    await never(signal);
  }
  const controller = await startIdle({
    clock,
    watch,
    get: () => Promise.resolve(kubeSystem),
    lead: () => Promise.resolve({ ...soleLeadership(), mayFollowAnother: true }),
    healthAddress: { host: "127.0.0.1", port: 0 },
  });
  await vi.waitFor(() => expect([...lists.values()]).toEqual([2, 2]), { timeout: 60_000 });
  const readiness = async (): Promise<string> => {
    const response = await fetch(`http://127.0.0.1:${controller.healthPort}/readyz`);
    return `${response.status} ${await response.text()}`;
  };
  return { clock, controller, readiness, answer: second.resolve };
}

test("a new leader is ready when it has read the components anew, and not before", async () => {
  const { clock, controller, readiness, answer } = await newLeader();
  expect(await readiness()).toBe("503 waiting for the components on the hub\n");
  answer();
  await vi.waitFor(async () => expect(await readiness()).toBe("200 ok\n"), { timeout: 60_000 });
  await clock.advance(60_000);
  expect(controller.failed.aborted).toBe(false);
});

test("a new leader whose hub lists nothing for 30 s gives up, so that another one may lead", async () => {
  const { clock, controller } = await newLeader();
  await clock.advance(29_999);
  expect(controller.failed.aborted).toBe(false);
  await clock.advance(1);
  expect(controller.failed.reason).toMatchObject({
    message: "The hub did not list the components within 30 s: another replica may lead",
  });
});
