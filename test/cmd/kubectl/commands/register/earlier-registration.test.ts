import { describe, expect, test } from "vitest";

import { withEarlier } from "../../../../../cmd/kubectl/commands/register/earlier-registration.ts";
import {
  type RegisterFlags,
  registerRequest,
} from "../../../../../cmd/kubectl/commands/register/register-request.ts";
import { registeredAnnotations } from "../../../../../cmd/kubectl/rights/spoke-objects.ts";
import { named, own, planned, present, profileOf, request, spoke } from "./registration-input.ts";

const first = {
  ...request,
  displayName: "arn:aws:eks:eu-1",
  account: "eu-hub",
  ttlSeconds: 86_400,
  server: "https://10.0.0.5:6443",
};
const profile = profileOf(planned({ request: first }));
const secrets = new Map([
  [
    "fleet-credentials/eu-1",
    present("Secret", {
      labels: own,
      annotations: { "knfleet.dev/cluster-profile": "fleet/eu-1" },
    }),
  ],
]);

/** The request of a later command line. */
function later(options: RegisterFlags, known: typeof profile | undefined = profile) {
  return withEarlier(registerRequest(["eu-1"], { namespace: undefined }, options), known);
}

function plannedLater(options: RegisterFlags, uid = spoke.uid) {
  const changes = { request: later(options), hub: { profile, secrets }, spoke: { uid } };
  return { plan: planned(changes), names: named(changes) };
}

describe("a cluster that was registered before", () => {
  test("keeps what the command line does not name", () => {
    expect(later({})).toMatchObject({
      displayName: "arn:aws:eks:eu-1",
      account: "eu-hub",
      ttlSeconds: 86_400,
    });
    const { plan } = plannedLater({});
    expect(plan.server).toBe("https://10.0.0.5:6443");
    expect(plan.profile).toMatchObject({
      metadata: { annotations: profile.metadata.annotations },
      spec: { displayName: "arn:aws:eks:eu-1" },
    });
  });

  test.each([`${"9".repeat(400)}s`, "9000000000s", "1s"])(
    "does not keep the life %s, which no token can have",
    (life) => {
      const { metadata } = profile;
      const annotations = { ...metadata.annotations, [registeredAnnotations.tokenLifetime]: life };
      const noted = { ...profile, metadata: { ...metadata, annotations } };
      expect(later({}, noted).ttlSeconds).toBeUndefined();
    },
  );

  test("gets what the command line names", () => {
    const options = { ttl: "1h", account: "other", spokeServer: "https://10.0.0.6:6443" };
    expect(later(options)).toMatchObject({ account: "other", ttlSeconds: 3_600 });
    expect(plannedLater(options).plan.server).toBe("https://10.0.0.6:6443");
    expect(later({ ttl: "0" }).ttlSeconds).toBeUndefined();
  });

  test("with labels alone keeps its token and all else", () => {
    const { plan, names } = plannedLater({ labels: ["tier=prod"] });
    expect(plan.keepsToken).toBe(true);
    expect(plan.warnings.join()).not.toContain("changes from");
    expect(names).toEqual(["hub clusterprofile.multicluster.x-k8s.io/eu-1"]);
  });

  test.each<readonly [string, RegisterFlags]>([
    ["nothing", {}],
    ["a life", { labels: ["tier=prod"], ttl: "1h" }],
    ["an account", { labels: ["tier=prod"], account: "other" }],
    ["an address", { labels: ["tier=prod"], spokeServer: "https://10.0.0.6:6443" }],
  ])("with %s named gets a new token", (_name, options) =>
    expect(plannedLater(options).plan.keepsToken).toBe(false),
  );

  test("is registered anew where the hub has no Secret, and when it is another cluster", () => {
    const asked = later({ labels: ["tier=prod"] });
    expect(planned({ request: asked, hub: { profile } }).keepsToken).toBe(false);
    const other = plannedLater({ labels: ["tier=prod"] }, "another-uid").plan;
    expect(other.keepsToken).toBe(false);
    expect(other.server).toBe("https://eu-1.example.com");
  });

  test("takes no address from an annotation that its status does not have, too", () => {
    const { status: _, ...bare } = profile;
    const changes = { request: later({}), hub: { profile: bare, secrets } };
    expect(planned(changes).server).toBe("https://eu-1.example.com");
  });

  test("takes nothing of a ClusterProfile of another manager", () => {
    const foreign = { ...profile, spec: { clusterManager: { name: "other" } } };
    expect(later({ labels: ["a=b"] }, foreign)).toMatchObject({
      account: "knfleet-hub",
      changesLabelsAlone: false,
      displayName: "eu-1",
    });
    expect(later({}, foreign).ttlSeconds).toBeUndefined();
  });
});
