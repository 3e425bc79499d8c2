import { expect, test } from "vitest";

import { ApiError } from "../../../access/kube/api-error.ts";
import { clusterProfileApiVersion } from "../../../api/cluster-profile.ts";
import { ProfileKeeper } from "../../../controller/discovery/keep-profile.ts";
import { sourcesOfSecret } from "../../../controller/discovery/secret-source.ts";
import type { NewEvent } from "../../../controller/events.ts";
import { bareClient } from "../../support/bare-client.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { silentLog } from "../../support/silent-log.ts";
import { secretOf, settings } from "./source-objects.ts";

const { signal } = new AbortController();
const policy = "ValidatingAdmissionPolicy 'owners' with binding 'owners' denied request: no owner";

function refusal(status: number, message: string): ApiError {
  const facts = { status, reason: "", message, causes: [], isStatus: true };
  return new ApiError({ ...facts, request: "PATCH /clusterprofiles" });
}

/** A keeper on a hub that refuses each profile, and the Events at the source. */
function refusedBy(error: () => Error) {
  const clock = new FakeClock();
  const told: string[] = [];
  const refuse = async (): Promise<never> => {
    throw error();
  };
  const record = async (
    { metadata }: { readonly metadata: { readonly name: string } },
    { reason, message }: NewEvent,
  ): Promise<void> => void told.push(`${metadata.name} ${reason}: ${message}`);
  const keeper = new ProfileKeeper({
    hub: bareClient({ apply: refuse }),
    caches: {
      profiles: new Map(),
      profileVersion: clusterProfileApiVersion,
      noteWritten: () => undefined,
    },
    check: async () => ({ kind: "answers", kubernetes: "v1.36.1" }),
    isUsed: () => false,
    events: { record },
    clock,
    random: () => 0.5,
    log: silentLog,
  });
  const [source] = sourcesOfSecret(secretOf("eu-1"), settings, clock.date().getTime());
  if (source === undefined) throw new Error("The Secret has no source");
  const ref = { namespace: "fleet", name: "eu-1" };
  const keep = () => keeper.keep("fleet/eu-1", { kind: "discovered", source, ref }, signal);
  return { keep, told };
}

test.each([
  [422, policy, "the ValidatingAdmissionPolicy owners denies it"],
  [404, 'namespaces "fleet" not found', 'namespaces "fleet" not found'],
])(
  "a profile that the hub does not take is told at its source, once: %i",
  async (status, message, why) => {
    const { keep, told } = refusedBy(() => refusal(status, message));
    await expect(keep()).rejects.toThrow(message);
    await expect(keep()).rejects.toThrow(message);
    expect(told).toEqual([
      `eu-1 ProfileRefused: The hub does not take ClusterProfile fleet/eu-1: ${why}`,
    ]);
  },
);

test("a hub that is away is nothing that somebody has to put right at the source", async () => {
  const { keep, told } = refusedBy(() => refusal(503, "etcdserver: leader changed"));
  await expect(keep()).rejects.toThrow("leader changed");
  expect(told).toEqual([]);
});
