import { describe, expect, test } from "vitest";

import { Door, type RequestFacts } from "../../../../../cmd/kubectl/commands/ui/door.ts";

const port = 4711;
const data = "/api/v1/status";

/** A door, with its secret. */
function openDoor() {
  const door = new Door(port, new Set(["/", "/page.js"]));
  const [path, token = ""] = door.entrance.split("#token=");
  if (path !== "/") throw new Error("The address opens the page");
  return { door, token, authorization: `Bearer ${token}` };
}

const good: RequestFacts = {
  method: "GET",
  url: data,
  host: `127.0.0.1:${port}`,
  origin: undefined,
  authorization: undefined,
};

test("the secret is behind #, which browsers do not send", () => {
  expect(openDoor().door.entrance).toMatch(/^\/#token=[\w-]{43}$/);
});

test("two doors have other secrets", () => {
  expect(openDoor().token).not.toBe(openDoor().token);
  const { authorization } = openDoor();
  expect(openDoor().door.check({ ...good, authorization })).toMatchObject({ status: 401 });
});

test.each(["/", "/page.js", "/?token=x"])("without the secret %s is shown", (url) => {
  const { door } = openDoor();
  expect(door.check({ ...good, url })).toMatchObject({ kind: "admitted", isOwner: false });
  expect(door.check({ ...good, url, host: `evil.example:${port}` })).toMatchObject({ status: 403 });
  expect(door.check({ ...good, url, origin: "https://evil.example" })).toMatchObject({
    status: 403,
  });
});

describe("with the secret", () => {
  const { door, token, authorization } = openDoor();
  const origin = `http://127.0.0.1:${port}`;
  const from = (facts: Partial<RequestFacts>) => door.check({ ...good, authorization, ...facts });

  test.each<[what: string, facts: Partial<RequestFacts>]>([
    ["a document", {}],
    ["the page", { url: "/" }],
    ["its own Origin", { origin }],
    ["localhost", { host: `localhost:${port}`, origin: `http://localhost:${port}` }],
    ["::1", { host: `[::1]:${port}` }],
    ["a name in capitals", { host: `LOCALHOST:${port}` }],
  ])("%s is admitted", (_, facts) => {
    const path = facts.url ?? data;
    expect(from(facts)).toMatchObject({ kind: "admitted", isOwner: true, path });
  });

  test("path and query come apart", () => {
    const verdict = from({ url: "/api/v1/status?names=a&names=b?c" });
    expect(verdict).toMatchObject({ kind: "admitted", path: "/api/v1/status" });
    expect(verdict.kind === "admitted" ? verdict.query.getAll("names") : []).toEqual(["a", "b?c"]);
  });

  test.each<[what: string, facts: Partial<RequestFacts>, status: number]>([
    ["POST", { method: "POST" }, 405],
    ["HEAD", { method: "HEAD" }, 405],
    ["OPTIONS", { method: "OPTIONS" }, 405],
    ["no method", { method: undefined }, 405],
    ["no Host", { host: undefined }, 403],
    ["a name that resolves to loopback", { host: `evil.example:${port}` }, 403],
    ["a name that begins like ours", { host: `localhost:${port}.evil.example` }, 403],
    ["a Host without the port", { host: "127.0.0.1" }, 403],
    ["a Host with another port", { host: "127.0.0.1:80" }, 403],
    ["another spelling of loopback", { host: `127.1:${port}` }, 403],
    ["another site", { origin: "https://evil.example" }, 403],
    ["a page without an origin", { origin: "null" }, 403],
    ["the same host with TLS", { origin: `https://127.0.0.1:${port}` }, 403],
    ["another port of this computer", { origin: "http://127.0.0.1:80" }, 403],
    ["no secret", { authorization: undefined }, 401],
    ["an empty secret", { authorization: "Bearer " }, 401],
    ["an empty header", { authorization: "" }, 401],
    ["the secret of another login", { authorization: `Basic ${token}` }, 401],
    ["the secret alone", { authorization: token }, 401],
    ["a secret with more behind it", { authorization: `${authorization}x` }, 401],
    ["a secret that ends early", { authorization: authorization.slice(0, -1) }, 401],
    ["two secrets", { authorization: `${authorization}, ${authorization}` }, 401],
    ["the secret in the query", { authorization: undefined, url: `${data}?token=${token}` }, 401],
    ["the address itself", { authorization: undefined, url: `/x${door.entrance}` }, 401],
    ["a path like an open one", { authorization: undefined, url: "/page.js/" }, 401],
    ["no path", { authorization: undefined, url: undefined }, 401],
  ])("%s is refused", (_, facts, status) => {
    expect(from(facts)).toMatchObject({ kind: "refused", status });
  });
});

test("wrong requests do not use up the secret", () => {
  const { door, authorization } = openDoor();
  expect(door.check({ ...good, authorization: "Bearer x" })).toMatchObject({ status: 401 });
  expect(door.check({ ...good, authorization, host: "evil.example" })).toMatchObject({
    status: 403,
  });
  expect(door.check({ ...good, authorization })).toMatchObject({ kind: "admitted" });
});
