import { describe, expect, test } from "vitest";

import { ApiError, ConnectionError } from "../../../../access/kube/api-error.ts";
import { FleetError } from "../../../../api/errors.ts";
import { unreadBecause } from "../../../../cmd/kubectl/spokes/spoke-reading.ts";

const answer = (status: number): ApiError =>
  new ApiError({
    status,
    reason: "",
    message: "deployments.apps is forbidden",
    causes: [],
    isStatus: true,
    request: "GET /apis/apps/v1/deployments",
  });

describe("a failed read becomes", () => {
  test.each([
    [new ConnectionError("refused", "x"), "Unreachable", "Unreachable"],
    [new ConnectionError("untrusted", "x"), "Unreachable", "TLSUntrusted"],
    [answer(401), "Denied", "CredentialRejected"],
    [answer(403), "Denied", "Forbidden"],
    [answer(500), "Unreachable", "ServerError"],
    [
      new FleetError("RemoteClientCreationFailed", "x", { code: "Unreachable" }),
      "Unreachable",
      "Unreachable",
    ],
    [
      new FleetError("AccessProviderFailed", "x", { code: "CredentialRejected" }),
      "Denied",
      "CredentialRejected",
    ],
    [
      new FleetError("AccessProviderFailed", "x", { code: "PluginTimeout" }),
      "NoAccess",
      "PluginTimeout",
    ],
    [new FleetError("ClusterProfileNotFound", "x"), "NoAccess", "ClusterProfileNotFound"],
    [new DOMException("x", "TimeoutError"), "Unreachable", "Timeout"],
  ])("%s → %s, %s", (error, state, reason) => {
    expect(unreadBecause(error, 10_000)).toMatchObject({ kind: "unread", state, reason });
  });

  test("a crash when it is a bug", () => {
    expect(() => unreadBecause(new TypeError("x"), 10_000)).toThrow(TypeError);
  });
});
