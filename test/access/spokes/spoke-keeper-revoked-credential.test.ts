import { expect, test, vi } from "vitest";

import { Reflector } from "../../../access/kube/reflector.ts";
import { PathMetrics } from "../../../access/spokes/path-metrics.ts";
import { resolveAccess } from "../../../access/spokes/resolved-access.ts";
import { SpokeKeeper } from "../../../access/spokes/spoke-keeper.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { FleetError } from "../../../api/errors.ts";
import { knownResource } from "../../../api/resources.ts";
import { rethrow } from "../../support/rethrow.ts";
import { startApiStub, type StubAnswer } from "../api-stub.ts";
import { entryOf, fileOf, profileOf, rawProvider } from "../builders.ts";
import { authority, serverIdentity, untilTheEnd } from "../loopback.ts";

const output = `{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"T","expirationTimestamp":"2099-01-01T00:00:00Z"}}`;
const bookmark = {
  type: "BOOKMARK",
  object: {
    kind: "ConfigMap",
    apiVersion: "v1",
    metadata: { resourceVersion: "5", annotations: { "k8s.io/initial-events-end": "true" } },
  },
};

test("a credential that was taken back is noticed when a watch is renewed, without any other request", async () => {
  let isRevoked = false;
  const watched = Promise.withResolvers<void>();
  const answer = ({ path }: { readonly path: string }): StubAnswer => {
    if (isRevoked) return { status: 401 };
    if (!path.includes("watch=true")) return {};
    watched.resolve();
    isRevoked = true;
    // The server ends the watch after its time.
    return { body: `${JSON.stringify(bookmark)}\n` };
  };
  const api = untilTheEnd(await startApiStub({ identity: serverIdentity, answer }));
  const ca = Buffer.from(authority.certificatePem).toString("base64");
  const cluster = { server: api.server, "certificate-authority-data": ca };
  const profile = profileOf({ accessProviders: [entryOf("sr", cluster)] });
  const exec = { command: "/bin/sh", args: ["-c", `echo '${output}'`] };
  const access = resolveAccess(profile, fileOf(rawProvider("sr", {}, exec)), Date.now());
  const path = new PathMetrics(systemClock);
  path.setSpokeState("fleet/spoke-1", "connecting");
  const deps = {
    clock: systemClock,
    environment: { PATH: "/usr/bin:/bin" },
    userAgent: "test",
    path,
  };
  const keeper = new SpokeKeeper({ kind: "access", access }, deps, () => undefined);
  const { client, signal } = await keeper.acquire(AbortSignal.timeout(10_000));
  const end = (): number | undefined => path.spokes().get("fleet/spoke-1")?.expiresAtMs;
  expect(end()).toBe(Date.parse("2099-01-01T00:00:00Z"));
  const ref = { resource: knownResource("v1", "ConfigMap") };
  const handlers = { onChange: () => undefined, onDelete: () => undefined, onBug: rethrow };
  using _reflector = new Reflector({ clock: systemClock, client, ref }, handlers, signal);
  await watched.promise;
  await vi.waitFor(() => expect(keeper.state).toMatchObject(lost), { timeout: 60_000 });
  // Nobody is told that a credential lasts which is refused.
  expect(end()).toBeUndefined();
  await keeper.close(new FleetError("ClusterProviderClosed", "The test is over"));
}, 40_000);

const lost = { kind: "lost", error: { code: "CredentialRejected" } };
