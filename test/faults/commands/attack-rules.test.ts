import { describe, expect, test } from "vitest";

import type { Write } from "../write-log.ts";
import { rightOf, stablePath } from "./asked-right.ts";
import { brokenLaws, type Shapes } from "./attack-rules.ts";
import type { Attack } from "./attack.ts";
import type { Outcome } from "./carry-out.ts";

const other = { kind: "ConfigMap" };
const before = { "hub: |ConfigMap|shop|shop": other };
const made = { "hub: |Secret|fleet|eu-1": { kind: "Secret" } };
const shapes: Shapes = { before, after: { ...before, ...made }, now: { ...before, ...made } };
const untouched: Shapes = { ...shapes, now: before };
const at = { cluster: "hub", method: "GET", path: "/api/v1/namespaces/fleet/secrets/eu-1" };
const read403: Attack = { kind: "answer", status: 403, at: { ...at, isAfterWrite: false } };
const late403: Attack = { kind: "answer", status: 403, at: { ...at, isAfterWrite: true } };
const write: Write = {
  number: 1,
  atMs: 0,
  cluster: "hub",
  connection: 1,
  method: "POST",
  path: "/api/v1/namespaces/fleet/secrets",
  body: "",
  who: "",
  status: 201,
};

function ended(exitCode: number, stderr = "", writes: readonly Write[] = []): Outcome {
  return { runs: [{ exitCode, stderr, stdout: "" }], writes };
}

function broken(attack: Attack, outcome: Outcome, now: Shapes = untouched) {
  return brokenLaws({}, attack, { outcome, shapes: now });
}

const named = "error: You lack rights on the hub: get secrets";

describe("a run that is attacked breaks no law", () => {
  test.each<readonly [string, Attack, Outcome, Shapes]>([
    ["that ends as always", { kind: "twice" }, ended(0), shapes],
    ["that names the right and writes nothing", read403, ended(2, named), untouched],
    ["that needs not know what it may not read", read403, ended(0), shapes],
    ["that reads only what it wrote", late403, ended(2, named, [write]), untouched],
    ["that names what it left", { kind: "twice" }, ended(2, "left: secret eu-1"), shapes],
    [
      "that is killed and says nothing",
      { kind: "kill", write: 1, side: "after" },
      ended(1),
      shapes,
    ],
    [
      "whose only write is denied",
      { kind: "right", cluster: "hub", right: { verb: "create", group: "", resource: "secrets" } },
      ended(2, 'error: secrets is forbidden: User "u" cannot create resource "secrets"', [
        { ...write, status: 403 },
      ]),
      untouched,
    ],
  ])("%s", (...[, attack, outcome, now]) => expect(broken(attack, outcome, now)).toEqual([]));
});

describe("a run that is attacked breaks a law", () => {
  test.each<readonly [string, Attack, Outcome, Shapes, RegExp]>([
    [
      "that says well and did nothing",
      { kind: "twice" },
      ended(0),
      untouched,
      /said that all is well/,
    ],
    [
      "that names no right",
      read403,
      ended(2, "error: no"),
      untouched,
      /name the right to get secrets/,
    ],
    ["that writes before", read403, ended(2, named, [write]), untouched, /It wrote: POST/],
    [
      "that writes before it names the right to the last write",
      { kind: "right", cluster: "hub", right: { verb: "delete", group: "", resource: "secrets" } },
      ended(2, "error: You lack rights on the hub: delete secrets", [write]),
      untouched,
      /It wrote: POST/,
    ],
    ["that says nothing", { kind: "twice" }, ended(2), untouched, /said nothing/],
    [
      "of a bug",
      { kind: "twice" },
      ended(2, "error: Internal error: x"),
      untouched,
      /Internal error/,
    ],
    [
      "that does not name what it left",
      { kind: "twice" },
      ended(2, "error: no"),
      { ...shapes, after: { ...shapes.after, "hub: |Secret|fleet|last": {} } },
      /left hub: \|Secret\|fleet\|eu-1/,
    ],
    [
      "that changes what is of others",
      { kind: "twice" },
      ended(2, "error: no"),
      { ...shapes, now: { "hub: |ConfigMap|shop|shop": { ...other, data: {} } } },
      /changed what is not its own/,
    ],
    ["of a dry run that writes", { kind: "dry run" }, ended(0, "", [write]), untouched, /It wrote/],
  ])("%s", (...[, attack, outcome, now, text]) =>
    expect(broken(attack, outcome, now).join("\n")).toMatch(text),
  );
});

describe("the right that a request needs", () => {
  test.each([
    ["GET", "/api/v1/namespaces", { verb: "list", group: "", resource: "namespaces" }],
    ["GET", "/api/v1/namespaces/a", { verb: "get", group: "", resource: "namespaces" }],
    ["POST", "/api/v1/namespaces/a/secrets?x", { verb: "create", group: "", resource: "secrets" }],
    [
      "PATCH",
      "/apis/a.b/v1/namespaces/n/c/d/status",
      { verb: "patch", group: "a.b", resource: "c/status" },
    ],
    ["DELETE", "/apis/a.b/v1/c/d", { verb: "delete", group: "a.b", resource: "c" }],
    ["POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", undefined],
    ["GET", "/version", undefined],
  ])("%s %s", (method, path, right) => {
    expect(rightOf({ method, path, isWatch: false })).toEqual(right);
  });

  test("has the same path in each run", () => {
    expect(stablePath("/api/v1/namespaces/a/secrets/x-token-0a1b2c?limit=5")).toBe(
      "/api/v1/namespaces/a/secrets/x-token-*",
    );
  });
});
