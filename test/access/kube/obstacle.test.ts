import { expect, test } from "vitest";

import { codeOfRefusal, obstacleIn } from "../../../access/kube/obstacle.ts";

const long = `${"a".repeat(60)}.${"b".repeat(60)}.${"c".repeat(60)}.example.com`;

test.each([
  [403, `admission webhook "${long}" denied the request: no`, "AdmissionRefused"],
  [500, 'admission webhook "a.b" denied the request without explanation', "AdmissionRefused"],
  [
    422,
    `configmaps "a" is forbidden: ValidatingAdmissionPolicy '${long}' with binding '${long}' denied request: no`,
    "AdmissionRefused",
  ],
  [500, `Internal error occurred: failed calling webhook "${long}": no`, "WebhookSilent"],
  [
    403,
    'configmaps "a" is forbidden: User "a" cannot patch resource "configmaps" in API group "" in the namespace "b"',
    "Forbidden",
  ],
  [403, 'forbidden: User "a" cannot get path "/version"', "Forbidden"],
  [
    403,
    'clusterroles.rbac.authorization.k8s.io "a" is forbidden: user "b" (groups=["c"]) is attempting to grant RBAC permissions not currently held',
    "Forbidden",
  ],
  [403, "must have cluster-admin privileges to use the aggregationRule", "Forbidden"],
  [403, `policy '${long}' with binding '${long}' denied request: no`, "AdmissionRefused"],
  [403, `policy "${long}" denied request: failed to configure policy: no`, "AdmissionRefused"],
  [422, `Pod "a" is invalid: x: "policy 'a' with binding 'b' denied request: no"`, undefined],
  [403, 'configmaps "a" is forbidden: status unknown for quota: few, resources: pods', undefined],
  [
    403,
    'configmaps "a" is forbidden: unable to create new content in namespace b because it is being terminated',
    undefined,
  ],
  [403, 'configmaps "a" is forbidden: failed to evaluate match conditions: no', undefined],
  [
    403,
    'configmaps "a" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you can\'t set finalizers on: no',
    undefined,
  ],
  [403, 'configmaps "a" is forbidden: exceeded quota: few, requested: 1', undefined],
  [422, "spec.x: Invalid value", undefined],
])("%s %s has the code %s", (status, message, code) => {
  expect(codeOfRefusal({ status, message })).toBe(code);
});

test("a refusal without a Status is that of a proxy, which asks for a right", () => {
  const refusal = { status: 403, message: "no", isStatus: false };
  expect(codeOfRefusal(refusal)).toBe("Forbidden");
});

test("what stands in the way is named in full", () => {
  const message = `admission webhook "${long}" denied the request`;
  expect(obstacleIn({ status: 400, message })).toBe(`the admission webhook ${long} denies it`);
  const mutation = `policy '${long}' with binding 'b' denied request: no`;
  expect(obstacleIn({ status: 403, message: mutation })).toBe(
    `the MutatingAdmissionPolicy ${long} denies it`,
  );
});

const exceeded = 'pods "a" is forbidden: exceeded quota: few, requested: pods=1, used: pods=3';
const exhausted = "the quota few is exhausted";

test.each([
  [403, exceeded, exhausted],
  // A work agent tells no status.
  [undefined, `Failed to apply manifest: ${exceeded}`, exhausted],
  // Only echoes of what the server was sent.
  [422, `Pod "a" is invalid: metadata.name: Invalid value: "${exceeded}"`, undefined],
  [409, exceeded, undefined],
  [
    403,
    'pods "a" is forbidden: User "exceeded quota: few" cannot create resource "pods"',
    undefined,
  ],
])(
  "a quota is believed with status 403 and in the words of the API server: %s %s",
  (status, message, told) => {
    expect(obstacleIn({ status, message })).toBe(told);
  },
);
