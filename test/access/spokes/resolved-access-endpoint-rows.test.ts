import { describe, expect, test } from "vitest";

import type { ClusterProfile } from "../../../api/cluster-profile.ts";
import { fileOf, rawProvider } from "../builders.ts";
import { accessOf, type Fields, offer, offering, outcomeOf } from "../rows.ts";

// Section 8.1 of cluster-inventory.md: where a profile leads.

function at(cluster: Fields): ClusterProfile {
  return offering(offer("sr", {}, cluster));
}

describe("an endpoint", () => {
  const insecure = fileOf(rawProvider("sr", { allowInsecure: true }));
  const noCa = { "certificate-authority-data": undefined };

  test.each([
    { row: "R42", cluster: { server: "" } },
    { row: "R43", cluster: { server: "spoke-1.test:6443", ...noCa } },
    { row: "R44", cluster: { server: "http://spoke-1.test", ...noCa } },
    { row: "R46", cluster: { "certificate-authority-data": "bm8gUEVN" } },
    { row: "R49", cluster: { "insecure-skip-tls-verify": true, ...noCa } },
    { row: "R51", cluster: { "proxy-url": "ftp://p" } },
    { row: "R51", cluster: { "proxy-url": "://" } },
  ])("$row: is refused at once with $cluster", ({ cluster }) => {
    expect(outcomeOf(at(cluster))).toMatchObject({ code: "EndpointInvalid" });
  });

  test("R44: may be plain http for a provider that allows it", () => {
    const profile = at({ server: "http://spoke-1.test", ...noCa });
    expect(outcomeOf(profile, insecure)).toMatchObject({ server: "http://spoke-1.test" });
  });

  test("R45: keeps its path, without the slash at the end", () => {
    expect(outcomeOf(at({ server: "https://gw.test/v1/projects/1/x/" }))).toMatchObject({
      server: "https://gw.test/v1/projects/1/x",
    });
  });

  test("R47: a path of a CA is ignored, and without a CA there is no trust (on purpose: T-13)", () => {
    const profile = at({ ...noCa, "certificate-authority": "/x/ca.crt" });
    expect(outcomeOf(profile)).toMatchObject({ code: "EndpointInvalid" });
    const { endpoint, warnings } = accessOf(
      profile,
      fileOf(rawProvider("sr", { systemRoots: true })),
    );
    expect(endpoint.caPem).toBeUndefined();
    expect(warnings.join()).toContain("certificate-authority is a file path, and is ignored");
  });

  test("R48: is not both unverified and verified", () => {
    const profile = at({ "insecure-skip-tls-verify": true });
    expect(outcomeOf(profile, insecure)).toMatchObject({ code: "EndpointInvalid" });
  });

  test("R50: is verified by the name that it says", () => {
    expect(accessOf(at({ "tls-server-name": "kube.internal" })).endpoint.tlsServerName).toBe(
      "kube.internal",
    );
  });
});
