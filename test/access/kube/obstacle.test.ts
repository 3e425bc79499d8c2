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
  [403, 'User "a" cannot patch resource "configmaps"', "Forbidden"],
  [403, 'configmaps "a" is forbidden: exceeded quota: few, requested: 1', undefined],
  [422, "spec.x: Invalid value", undefined],
])("%s %s has the code %s", (status, message, code) => {
  expect(codeOfRefusal({ status, message })).toBe(code);
});

test("what stands in the way is named in full", () => {
  const message = `admission webhook "${long}" denied the request`;
  expect(obstacleIn({ status: 400, message })).toBe(`the admission webhook ${long} denies it`);
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
