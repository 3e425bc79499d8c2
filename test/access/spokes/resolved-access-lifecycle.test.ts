import { expect, test } from "vitest";

import { resolveAccess } from "../../../access/spokes/resolved-access.ts";
import type { ClusterProfile } from "../../../api/cluster-profile.ts";
import { entryOf, fileOf, healthy, profileOf, rawProvider } from "../builders.ts";

const file = fileOf(rawProvider("sr"));
const plain = profileOf({ accessProviders: [entryOf("sr")] });

function printOf(profile: ClusterProfile): string {
  return resolveAccess(profile, file, Date.now()).fingerprint;
}

test.each([
  { what: "a property", status: { properties: [{ name: "a", value: "1" }] } },
  { what: "the version", status: { version: { kubernetes: "v1.36.3" } } },
  {
    what: "the time of a condition",
    status: { conditions: [{ ...healthy, lastTransitionTime: "2026-11-01T00:00:00Z" }] },
  },
  { what: "another access entry", status: { accessProviders: [entryOf("x"), entryOf("sr")] } },
])("a change of $what leaves the fingerprint as it is (L01)", ({ status }) => {
  expect(printOf({ ...plain, status: { ...plain.status, ...status } })).toBe(printOf(plain));
});

test("a change of labels leaves the fingerprint as it is (L01)", () => {
  const labeled = { ...plain, metadata: { ...plain.metadata, labels: { a: "b" } } };
  expect(printOf(labeled)).toBe(printOf(plain));
});

test.each([
  { what: "the proxy (L02)", cluster: { "proxy-url": "http://proxy.test:3128" } },
  { what: "the server", cluster: { server: "https://other.test" } },
  { what: "the TLS name", cluster: { "tls-server-name": "kube.internal" } },
])("a change of $what changes the fingerprint", ({ cluster }) => {
  const changed = profileOf({ accessProviders: [entryOf("sr", cluster)] });
  expect(printOf(changed)).not.toBe(printOf(plain));
});

test.each([
  {
    what: "an address range for servers",
    rules: { allowedServers: ["*.test", "127.0.0.0/8"] },
    isNew: true,
  },
  { what: "an address range for proxies", rules: { allowedProxies: ["127.0.0.0/8"] }, isNew: true },
  { what: "a name for servers", rules: { allowedServers: ["*.test"] }, isNew: false },
])("$what in the rules of the provider: a new fingerprint is $isNew", ({ rules, isNew }) => {
  const ruled = resolveAccess(plain, fileOf(rawProvider("sr", rules)), Date.now());
  expect(ruled.fingerprint !== printOf(plain)).toBe(isNew);
});

test("one cluster in two namespaces is two ways in (L09)", () => {
  const twin = { ...plain, metadata: { ...plain.metadata, namespace: "other", uid: "uid-2" } };
  expect(resolveAccess(twin, file, Date.now()).profile).not.toEqual(
    resolveAccess(plain, file, Date.now()).profile,
  );
});
