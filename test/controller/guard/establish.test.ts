import { expect, test } from "vitest";

import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { establish } from "../../../controller/guard/establish.ts";
import { policyNameOf } from "../../../controller/guard/policy.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { MemorySpoke } from "./memory-spoke.ts";

const hubId = "0c3f6f52-1d3b-4f6e-9a44-0f0a4ad11c0e";
const { signal } = new AbortController();
const serverTimeMs = Date.parse("2026-11-28T12:00:00Z");

/** The times in the metadata of a policy, before the time of the cluster in ms. */
interface Age {
  readonly created?: number;
  readonly changed?: readonly number[];
}

const timeBefore = (ms: number) => new Date(serverTimeMs - ms).toISOString();

/** How many ms a guard needs for its proof where its objects have these ages. */
async function proofMs(age: Age, serverTime?: number): Promise<number> {
  const clock = new FakeClock();
  const spoke = new MemorySpoke(hubId);
  const client: KubeClient = spoke.clientOf("knfleet");
  const { probes, begin } = starter(clock, client, serverTime);
  await finished(begin(true), clock);
  for (const kind of ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]) {
    for (const guard of ["anchor-guard", "namespace-guard"] as const) {
      const name = policyNameOf(guard, hubId);
      const { metadata } = spoke.objects.find(kind, name) ?? {};
      const { created, changed = [] } = age;
      const managedFields = changed.map((ms) => ({ manager: "knfleet", time: timeBefore(ms) }));
      const creationTimestamp = created === undefined ? undefined : timeBefore(created);
      spoke.objects.edit(kind, name, {
        metadata: { ...metadata, creationTimestamp, managedFields },
      });
    }
  }
  probes.length = 0;
  const beganAt = clock.now();
  await finished(begin(false), clock);
  return (probes.at(-1) ?? beganAt) - beganAt;
}

function starter(clock: FakeClock, client: KubeClient, serverTime: number | undefined) {
  /** Times of the probes. */
  const probes: number[] = [];
  const probeCreations = async () => {
    probes.push(clock.now());
    return ["denied"] as const;
  };
  const self = Promise.resolve({
    username: "knfleet",
    groups: [],
    serverTimeMs: serverTime,
  });
  const begin = (isFresh: boolean) =>
    establish(
      {
        client,
        fieldManager: "knfleet",
        hubId,
        crds: false,
        self,
        isFresh,
        clock,
        prober: { probeCreations },
      },
      {
        namespace: () => "knative-serving",
        onUser: (_policy, user) => [user],
        onSent: () => undefined,
        onSettled: () => undefined,
      },
      signal,
    );
  return { probes, begin };
}

async function finished(work: Promise<unknown>, clock: FakeClock): Promise<void> {
  // Longer than any proof.
  await clock.advance(30_000);
  await work;
}

test.each<{ name: string; age: Age }>([
  { name: "that were made a minute ago", age: { created: 60_000 } },
  { name: "that were last changed a minute ago", age: { created: 90_000, changed: [60_000] } },
])("one probe proves policies $name", async ({ age }) => {
  expect(await proofMs(age, serverTimeMs)).toBe(0);
});

test.each<{ name: string; age: Age }>([
  { name: "that were made less than a minute ago", age: { created: 59_000 } },
  {
    name: "of which one manager changed something less than a minute ago",
    age: { created: 120_000, changed: [110_000, 59_000, 100_000] },
  },
])("several probes prove policies $name", async ({ age }) => {
  expect(await proofMs(age, serverTimeMs)).toBeGreaterThan(1_500);
});

test("several probes prove old policies where the time of the cluster is not known", async () => {
  expect(await proofMs({ created: 600_000 })).toBeGreaterThan(1_500);
});
