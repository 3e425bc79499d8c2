import type { KubeObject } from "../../../../api/kubernetes.ts";
import { now } from "../fleet-facts.ts";

interface LeaseFacts {
  /** Absent: the Lease was released. */
  readonly holder?: string;
  /** Seconds since the last renewal. Default 2. */
  readonly age?: number;
  /** Duration in seconds. Default 15. */
  readonly seconds?: number;
  readonly namespace?: string;
}

/** The identity that the replica in a pod has. */
const identityOf = (pod: string): string => `${pod}_8f14e45f-ceea-4e7a-9c3b-1f0d2a5b6c7d`;

/** A Lease as a replica of the controller leaves it. */
export function lease(
  name: string,
  { holder, age = 2, seconds = 15, namespace = "knfleet-system" }: LeaseFacts = {},
): KubeObject {
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { namespace, name, uid: `uid-${name}`, resourceVersion: "1" },
    spec: {
      holderIdentity: holder === undefined ? "" : identityOf(holder),
      leaseDurationSeconds: holder === undefined ? 1 : seconds,
      renewTime: new Date(now.getTime() - age * 1_000).toISOString().replace("Z", "000Z"),
    },
  };
}
