import { onTestFinished } from "vitest";

import { ApiError } from "../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { describe as nameOf } from "../../../api/kubernetes.ts";
import { ClusterGuard } from "../../../controller/guard/cluster-guard.ts";
import { HubUsers } from "../../../controller/guard/policy.ts";
import type { Log } from "../../../controller/log.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { silentLog } from "../../support/silent-log.ts";
import { eventing } from "../hand-made-installation.ts";
import { MemorySpoke } from "./memory-spoke.ts";

const hubId = "0c3f6f52-1d3b-4f6e-9a44-0f0a4ad11c0e";
export const minute = 60_000;
// A proof is made anew after 9 to 11 minutes.
export const recheck = 11 * minute;

interface Scene {
  readonly protection?: "Auto" | "Policy" | "TwinOwner";
  readonly log?: Log;
  /** What is special about the cluster. */
  readonly changed?: (client: KubeClient, spoke: MemorySpoke) => Partial<KubeClient>;
}

/** A guard over a cluster that may refuse something, what it has told so far, and the withdrawn confirmations. */
export function guardOver({ protection = "Policy", log = silentLog, changed = () => ({}) }: Scene) {
  const clock = new FakeClock();
  const spoke = new MemorySpoke(hubId);
  const life = new AbortController();
  onTestFinished(() => life.abort(new Error("The test is over")));
  const client = spoke.clientOf("a");
  const said: string[] = [];
  const withdrawn: string[] = [];
  let told: ClusterGuard | undefined;
  const guard = new ClusterGuard(
    {
      client: { ...client, ...changed(client, spoke) },
      fieldManager: "knfleet-test",
      signal: life.signal,
    },
    {
      clock,
      log,
      hubId,
      users: new HubUsers(),
      protection,
      crds: false,
      onChange: () => said.push(told?.protection.reason ?? "at once"),
      onWithdrawn: (key, components) => {
        const names = components.map(({ metadata }) => metadata.name);
        withdrawn.push(`${nameOf(key)} of ${names.join()}`);
      },
    },
  );
  told = guard;
  const protect = (word: string, anchorNamespace = word): void => {
    const anchor = { namespace: anchorNamespace, name: `anchor-of-${word}` };
    guard.protect({ component: eventing(word), anchor });
  };
  return { clock, spoke, guard, said, withdrawn, protect };
}

export function apiError(status: number): ApiError {
  const facts = { status, message: `status ${status}`, reason: "", causes: [], isStatus: true };
  return new ApiError({ ...facts, request: "POST /memory" });
}
