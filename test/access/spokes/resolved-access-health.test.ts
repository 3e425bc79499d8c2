import { expect, test } from "vitest";

import { profileOf } from "../builders.ts";
import { outcomeOf } from "../rows.ts";

const bare = "ClusterProfile fleet/spoke-1 has no condition ControlPlaneHealthy=True";
const untrusted = {
  type: "ControlPlaneHealthy",
  status: "False",
  reason: "TLSUntrusted",
  message: "https://spoke-1.test shows a certificate (SELF_SIGNED_CERT_IN_CHAIN)",
} as const;

function unhealthy(manager: string, conditions: readonly (typeof untrusted)[]) {
  return { ...profileOf({ conditions }), spec: { clusterManager: { name: manager } } };
}

test("an unhealthy profile says why: of knfleet's own check all, of another manager the reason", () => {
  expect(outcomeOf(unhealthy("m", []))).toMatchObject({ message: bare });
  const told = `${bare}: it is False TLSUntrusted`;
  expect(outcomeOf(unhealthy("m", [untrusted]))).toMatchObject({ message: told });
  const own = outcomeOf(unhealthy("knfleet-register", [untrusted]));
  expect(own).toMatchObject({ message: `${told}: ${untrusted.message}` });
});
