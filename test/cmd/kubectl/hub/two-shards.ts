import { expect } from "vitest";

import type { KubeObject } from "../../../../api/kubernetes.ts";
import { recordedBinding } from "../controller-binding.ts";
import { component } from "../fleet-facts.ts";
import { reviews } from "../reviews.ts";
import { runText } from "../run-text.ts";
import { type Answer, startStubHub } from "../stub-hub.ts";
import { lease } from "./lease-facts.ts";

const onOne = component({ name: "one", cluster: "spoke-1" });
const onTwo = component({ name: "two", cluster: "spoke-2" });
const onHub = component({ name: "home", cluster: null, kind: "KnativeEventing" });
const components = [onOne, onTwo, onHub];
export const binding = recordedBinding("knfleet", "knfleet-system");

// Of two shards spoke-1 and the hub are in the first, spoke-2 is in the second.
export const shared = [
  lease("knfleet-shard-0-of-2", { holder: "pod-a" }),
  lease("knfleet-shard-1-of-2", { holder: "pod-b" }),
  lease("knfleet-fleet", { holder: "pod-a" }),
];
/** The Lease of the second shard has run out. */
export const halfServed = [
  ...shared.filter(({ metadata }) => metadata.name !== "knfleet-shard-1-of-2"),
  lease("knfleet-shard-1-of-2", { holder: "pod-b", age: 70 }),
];

const leasesPath = "/apis/coordination.k8s.io/v1/leases";
const forbidden = { kind: "Status", apiVersion: "v1", code: 403, message: "no" };
export const mayNotList: Answer = ({ path }) =>
  path === leasesPath ? { status: 403, body: forbidden } : undefined;
export const mayNotListBindings: Answer = ({ path }) =>
  path.endsWith("/clusterrolebindings") ? { status: 403, body: forbidden } : undefined;
export const asks = reviews(() => true);

/** Runs a command on a hub with the components and these Leases, which are listed once at most. */
export async function run(
  args: readonly string[],
  leases: readonly KubeObject[],
  answer: Answer = asks,
): ReturnType<typeof runText> {
  await using hub = await startStubHub([...components, ...leases, binding], answer);
  const ran = await runText(args, { env: hub.env });
  const lists = hub.requests.filter((request) => request === `GET ${leasesPath}`);
  expect(lists.length).toBeLessThanOrEqual(1);
  return ran;
}
