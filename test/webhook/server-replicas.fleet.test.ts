// Servers of its own: the API server calls webhooks through an egress proxy.
import { setTimeout as delay } from "node:timers/promises";

import { expect, test } from "vitest";

import { useFleet } from "../fleet/use-fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { startBalancer } from "../performance/webhook-balancer.ts";
import { WebhookProcess } from "../support/webhook-process.ts";
import { askForAnchor, controllerUser, installWebhook, names } from "./guarded-hub.ts";

const fleet = useFleet({ hub: { egress: true }, spokes: 0 });
const workers = 8;
const calmMs = 5_000;

test("C2, G7: when one of two replicas is killed under load, calls fail for a moment at most and then none", async () => {
  const { hub } = fleet();
  const kubeconfig = await installWebhook(hub);
  await hub.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "guarded" } });
  await using balancer = await startBalancer();
  const flags = [`--controller-user=${controllerUser}`];
  await using first = new WebhookProcess({ kubeconfig, flags });
  await using second = new WebhookProcess({ kubeconfig, flags });
  await balancer.add(first);
  await balancer.add(second);
  await hub.routeService(names, balancer.port);
  await waitFor("an answer", async () => (await askForAnchor(hub)) === 403, { timeoutMs: 90_000 });

  const answers: { readonly status: number; readonly at: number }[] = [];
  const over = new AbortController();
  const load = Array.from({ length: workers }, async () => {
    while (!over.signal.aborted) {
      const status = await askForAnchor(hub);
      answers.push({ status, at: performance.now() });
      await delay(60);
    }
  });
  const enough = (count: number) => () => answers.length >= count;
  await waitFor("load", enough(100), { timeoutMs: 90_000 });
  expect(answers.filter(({ status }) => status !== 403)).toEqual([]);
  const killedAt = performance.now();
  // The one that has the API server's connection: it logs what it refuses.
  const [victim] = [first, second].toSorted((a, b) => b.stdout.length - a.stdout.length);
  victim?.signal("SIGKILL");
  await victim?.exited;
  await delay(calmMs);
  const calm = answers.length;
  await waitFor("load after it", enough(calm + 200), { timeoutMs: 90_000 });
  over.abort();
  await Promise.all(load);

  // 500 is a call that could not be made; nothing is ever let through.
  expect(answers.filter(({ status }) => status !== 403 && status !== 500)).toEqual([]);
  const lost = answers.filter(({ status }) => status === 500);
  expect(lost.filter(({ at }) => at < killedAt || at > killedAt + calmMs)).toEqual([]);
  // What was in flight, and at most as many again before the Service knew.
  expect(lost.length).toBeLessThanOrEqual(2 * workers);
}, 300_000);
