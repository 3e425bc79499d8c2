import { expect, test } from "vitest";

import { failureReason } from "../../../cmd/kubectl/failure.ts";
import { apiError } from "../../support/api-error.ts";

test.each([
  [401, "no", "CredentialRejected"],
  [403, 'x is forbidden: User "u" cannot patch resource "x" in API group ""', "Forbidden"],
  [403, "x is forbidden: exceeded quota: q, requested: x", "Forbidden"],
  [403, 'admission webhook "w.x" denied the request: no', "AdmissionRefused"],
  [
    422,
    "x is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
    "AdmissionRefused",
  ],
  [500, 'Internal error occurred: failed calling webhook "w.x": no', "WebhookSilent"],
  [500, "no", "ServerError"],
])("%s %s fails a command with the reason %s", (status, message, reason) => {
  expect(failureReason(apiError(status, "Reason", message))).toBe(reason);
});
