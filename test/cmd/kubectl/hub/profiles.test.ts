import { expect, test } from "vitest";

import { readProfile } from "../../../../cmd/kubectl/hub/profiles.ts";
import { apiError } from "../../../support/api-error.ts";

const ref = { namespace: "fleet", name: "eu-1" };
const unread = "ClusterProfile fleet/eu-1 could not be read";

test.each([
  {
    name: "a missing right is named with verb, kind and namespace",
    error: apiError(
      403,
      "Forbidden",
      'clusterprofiles.multicluster.x-k8s.io "eu-1" is forbidden: User "u" cannot get resource "clusterprofiles" in API group "multicluster.x-k8s.io" in the namespace "fleet"',
    ),
    message: `${unread}: the right to get clusterprofiles.multicluster.x-k8s.io in namespace fleet is missing`,
  },
  {
    name: "a refusal that names no right is not quoted",
    error: apiError(403, "Forbidden", "no, says a proxy"),
    message: unread,
  },
  { name: "another failure is no missing right", error: new Error("down"), message: unread },
])("$name", async ({ error, message }) => {
  const hub = { get: () => Promise.reject(error) };
  const reading = readProfile(ref, hub, new AbortController().signal);
  await expect(reading).rejects.toThrow(expect.objectContaining({ message }));
});
