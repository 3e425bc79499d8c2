import { describe, expect, test } from "vitest";

import { ApiError, type ApiErrorFacts, ConnectionError } from "../../../access/kube/api-error.ts";
import type { ComponentStatus } from "../../../api/component.ts";
import { FleetError } from "../../../api/errors.ts";
import { askedWaitMs, fleetErrorOf, isForNow, asLoss } from "../../../controller/status/outcome.ts";

function answer(status: number, reason = "", message = "secret"): ApiError {
  return new ApiError({ ...factsOf(status), reason, message });
}

function asking(status: number, retryAfterMs: number): ApiError {
  return new ApiError({ ...factsOf(status), retryAfterMs });
}

function factsOf(status: number): ApiErrorFacts {
  const request = "PATCH /api/v1/namespaces/a?force=true";
  return { status, reason: "", message: "", causes: [], isStatus: true, request };
}

test.each([
  {
    name: "a refused connection",
    error: new ConnectionError("refused", "https://a:6443 refused the connection"),
    reason: "SpokeUnreachable",
    message: "[Unreachable] The hub: https://a:6443 refused the connection",
  },
  {
    name: "an untrusted server",
    error: new ConnectionError("untrusted", "https://a:6443 shows a wrong certificate"),
    reason: "RemoteClientCreationFailed",
    message: "[TLSUntrusted] The hub: https://a:6443 shows a wrong certificate",
  },
  {
    name: "a rejected credential",
    error: answer(401),
    reason: "AccessProviderFailed",
    message: "[CredentialRejected] The hub: the credential is not accepted",
  },
  {
    name: "a missing right",
    error: answer(
      403,
      "Forbidden",
      'namespaces "secret" is forbidden: User "secret" cannot patch resource "namespaces" in API group "" at the cluster scope',
    ),
    reason: "ApplyFailed",
    message:
      "[Forbidden] The hub: PATCH /api/v1/namespaces/a is not allowed: the controller lacks the right to patch namespaces",
  },
  {
    name: "a refusal for another reason than a right",
    error: answer(403),
    reason: "ApplyFailed",
    message: "The hub: PATCH /api/v1/namespaces/a is not allowed",
  },
  {
    name: "a quota",
    error: answer(
      403,
      "Forbidden",
      'secrets "secret" is forbidden: exceeded quota: tight, requested: secret',
    ),
    reason: "ApplyFailed",
    message: "The hub: PATCH /api/v1/namespaces/a is not allowed: the quota tight is exhausted",
  },
  {
    name: "a quota that is not counted yet",
    error: answer(
      403,
      "Forbidden",
      'secrets "secret" is forbidden: status unknown for quota: tight, resources: secrets',
    ),
    reason: "ClusterBusy",
    message: "The hub: PATCH /api/v1/namespaces/a was answered 403 Forbidden",
  },
  {
    name: "a webhook that does not answer",
    error: answer(500, "InternalError", 'failed calling webhook "all.example.com": secret'),
    reason: "ApplyFailed",
    message:
      "[WebhookSilent] The hub: PATCH /api/v1/namespaces/a was answered 500 InternalError: the webhook all.example.com does not answer",
  },
  {
    name: "a webhook that refuses",
    error: answer(400, "", 'admission webhook "all.example.com" denied the request: secret'),
    reason: "ApplyFailed",
    message:
      "[AdmissionRefused] The hub: PATCH /api/v1/namespaces/a was answered 400: the admission webhook all.example.com denies it",
  },
  {
    name: "what is too large",
    error: answer(422, "Invalid", "secret: Too long: may not be more than 1048576 bytes"),
    reason: "ApplyFailed",
    message:
      "The hub: PATCH /api/v1/namespaces/a was answered 422 Invalid: it is larger than the cluster can store",
  },
  {
    name: "another answer",
    error: answer(422, "Invalid"),
    reason: "ApplyFailed",
    message: "The hub: PATCH /api/v1/namespaces/a was answered 422 Invalid",
  },
  {
    name: "a bug",
    error: new TypeError("secret"),
    reason: "ApplyFailed",
    message: "Internal error, see the log of the controller",
  },
])("$name has a reason, and no foreign text", ({ error, reason, message }) => {
  expect(fleetErrorOf(error, "The hub")).toMatchObject({ reason, message, cause: error });
});

describe("C11: an answer", () => {
  const typed = "failed to create typed patch object (/a; v1, Kind=Namespace): .spec.x: secret";
  const silent = 'failed calling webhook "all.example.com": secret';
  const denied = 'admission webhook "all.example.com" denied the request: secret';

  test.each([408, 429, 500, 502, 503, 504])("%i is one for now", (status) => {
    const error = fleetErrorOf(answer(status), "The hub");
    expect(isForNow(error)).toBe(true);
    expect(error).toMatchObject({
      reason: "ClusterBusy",
      message: `The hub: PATCH /api/v1/namespaces/a was answered ${status}`,
    });
  });

  test.each([
    { what: "400", error: answer(400) },
    { what: "403", error: answer(403) },
    { what: "409", error: answer(409) },
    { what: "422", error: answer(422) },
    { what: "500 to what is no object of its kind", error: answer(500, "", typed) },
    { what: "500 that names a webhook", error: answer(500, "InternalError", silent) },
    { what: "503 of a webhook's own choice", error: answer(503, "", denied) },
  ])("$what is a failure", ({ error }) => {
    const shown = fleetErrorOf(error, "The hub");
    expect(isForNow(shown)).toBe(false);
    expect(shown.reason).toBe("ApplyFailed");
  });

  test("that somebody has told in other words is one for now all the same", () => {
    const cause = answer(503);
    expect(isForNow(new FleetError("ClusterBusy", "Deleting was not possible", { cause }))).toBe(
      true,
    );
    expect(isForNow(new FleetError("ClusterBusy", "Still being deleted"))).toBe(false);
  });

  test.each([
    { what: "429 that asks for 20 s", error: asking(429, 20_000), waitMs: 20_000 },
    { what: "503 that asks for an hour", error: asking(503, 3_600_000), waitMs: 60_000 },
    { what: "500 that asks for nothing", error: answer(500), waitMs: 0 },
    { what: "409 that asks for 20 s", error: asking(409, 20_000), waitMs: 0 },
  ])("$what is waited for for $waitMs ms, whoever has told it", ({ error, waitMs }) => {
    expect(askedWaitMs(error)).toBe(waitMs);
    expect(askedWaitMs(fleetErrorOf(error, "The hub"))).toBe(waitMs);
  });
});

test("what has a reason already keeps it", () => {
  const error = new FleetError("AnchorConflict", "Mine");
  expect(fleetErrorOf(error, "The hub")).toBe(error);
});

describe("a cluster that cannot be reached", () => {
  const silent = new FleetError("RemoteClientCreationFailed", "It is silent", {
    code: "Unreachable",
  });
  const resolved: ComponentStatus = {
    conditions: [{ type: "TargetClusterResolved", status: "True" }],
  };
  const lost: ComponentStatus = {
    conditions: [{ type: "TargetClusterResolved", status: "Unknown", reason: "SpokeUnreachable" }],
  };

  test.each([
    { when: "its connection is silent", isLost: true, wasReached: true, status: undefined },
    {
      when: "a status of before our start knew it",
      isLost: false,
      wasReached: false,
      status: resolved,
    },
    { when: "it was lost before our start", isLost: false, wasReached: false, status: lost },
  ])("was lost when $when", (known) => {
    expect(asLoss(silent, known)).toMatchObject({
      reason: "SpokeUnreachable",
      message: "[Unreachable] It is silent",
    });
  });

  test.each([
    { when: "nobody ever reached it", isLost: false, wasReached: false, status: {} },
    {
      when: "it was reached at another address",
      isLost: false,
      wasReached: true,
      status: resolved,
    },
  ])("was not lost when $when", (known) => {
    expect(asLoss(silent, known)).toBe(silent);
  });

  test("was not lost when it shows a wrong certificate", () => {
    const error = new FleetError("RemoteClientCreationFailed", "No", { code: "TLSUntrusted" });
    expect(asLoss(error, { isLost: true, wasReached: true, status: resolved })).toBe(error);
  });
});
