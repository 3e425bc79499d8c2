import { afterAll, beforeAll, expect, test } from "vitest";

import type { HubConnection } from "../../../access/hub/hub.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import type { ObjectKey } from "../../../api/kubernetes.ts";
import { finalize } from "../../../controller/uninstall/finalize.ts";
import { componentUidLabel } from "../../../installation/anchor.ts";
import { useSpokes } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { silentLog } from "../../support/silent-log.ts";
import {
  connectAs,
  eventing,
  existing,
  installByHand,
  remoteTarget,
  userAgent,
  type Installation,
} from "../hand-made-installation.ts";

const fleet = useSpokes([{ kwok: false }]);
const priorities = { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass" };
const { signal } = new AbortController();
let spoke: HubConnection;

beforeAll(async () => {
  // The recommended role has no right to what users' manifests may bring.
  const rules = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }];
  spoke = await connectAs(fleet().spoke(0), "entitled", { rules });
});

afterAll(async () => spoke[Symbol.asyncDispose]());

function admin() {
  return fleet().spoke(0).admin;
}

/** An installation that lost its anchor, with an object of a kind that no release has. */
async function rootless(word: string): Promise<Installation & { readonly brought: ObjectKey }> {
  const installed = await installByHand({
    component: eventing(word),
    target: remoteTarget(spoke.client, word),
    admin: admin(),
    kinds: ["ClusterRole"],
  });
  const labels = { [componentUidLabel]: installed.component.metadata.uid };
  const brought = { ...priorities, name: word };
  await admin().create({ ...priorities, metadata: { name: word, labels }, value: 1 });
  await admin().remove(installed.anchor.key, { orphan: true });
  const isGone = async () => (await admin().get(installed.anchor.key)) === undefined;
  await waitFor("the anchor to be gone", isGone, { timeoutMs: 60_000 });
  return { ...installed, brought };
}

test("what users' manifests brought goes without the anchor by what is remembered, and nothing else is looked at", async () => {
  const { component, target, keys, brought } = await rootless("remembered");
  const recall = () => Promise.resolve({ entries: [brought], isAll: true });
  const since = new Date();
  await finalize({ component, target, recall }, { clock: systemClock, log: silentLog }, signal);
  expect(await existing(admin(), [...keys, brought])).toEqual([]);
  const requests = await fleet().spoke(0).auditLog.requests({ userAgent, since });
  expect(requests.filter(({ resource }) => resource === "pods")).toEqual([]);
});

test("what users' manifests brought goes without the anchor when nobody remembers anything", async () => {
  const { component, target, keys, brought } = await rootless("forgotten");
  await finalize({ component, target }, { clock: systemClock, log: silentLog }, signal);
  expect(await existing(admin(), [...keys, brought])).toEqual([]);
});
