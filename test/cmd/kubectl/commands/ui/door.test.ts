import { describe, expect, test } from "vitest";

import { Door, type RequestFacts } from "../../../../../cmd/kubectl/commands/ui/door.ts";

const port = 4711;

/** A door whose token was used, with the cookie for it. */
function openDoor() {
  const door = new Door(port);
  const first = door.check({ ...good, url: door.entrance, cookie: undefined });
  if (first.kind !== "welcomed") throw new Error("The token opens the door");
  const cookie = first.cookie.split(";")[0] ?? "";
  return { door, cookie, whole: first.cookie };
}

const good: RequestFacts = {
  method: "GET",
  url: "/",
  host: `127.0.0.1:${port}`,
  origin: undefined,
  cookie: undefined,
};

test("the token opens once, and gives a cookie that other sites cannot use", () => {
  const { door, whole } = openDoor();
  expect(whole).toMatch(/^knfleet-ui-4711=[\w-]{43}; Path=\/; SameSite=Strict; HttpOnly$/);
  expect(door.check({ ...good, url: door.entrance })).toMatchObject({ status: 401 });
});

test("two doors have other tokens and other cookies", () => {
  expect(new Door(port).entrance).not.toBe(new Door(port).entrance);
  expect(openDoor().cookie).not.toBe(openDoor().cookie);
  expect(openDoor().door.check({ ...good, cookie: openDoor().cookie })).toMatchObject({
    status: 401,
  });
});

describe("with the cookie", () => {
  const { door, cookie } = openDoor();
  const origin = `http://127.0.0.1:${port}`;
  const from = (facts: Partial<RequestFacts>) => door.check({ ...good, cookie, ...facts });

  test.each<[what: string, facts: Partial<RequestFacts>]>([
    ["the page", {}],
    ["its own Origin", { origin }],
    ["localhost", { host: `localhost:${port}`, origin: `http://localhost:${port}` }],
    ["::1", { host: `[::1]:${port}` }],
    ["a name in capitals", { host: `LOCALHOST:${port}` }],
    ["other cookies", { cookie: `a=b; ${cookie}; c=d` }],
    ["the used token", { url: door.entrance }],
  ])("%s is admitted", (_, facts) => {
    expect(from(facts)).toMatchObject({ kind: "admitted", path: "/" });
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
    ["no cookie", { cookie: undefined }, 401],
    ["an empty cookie", { cookie: "knfleet-ui-4711=" }, 401],
    ["a cookie of another port", { cookie: cookie.replace("4711", "4712") }, 401],
    ["a cookie with more behind it", { cookie: `${cookie}x` }, 401],
    ["a token without the cookie", { cookie: undefined, url: "/?token=x" }, 401],
    ["an empty token", { cookie: undefined, url: "/?token=" }, 401],
    ["two tokens", { cookie: undefined, url: `${door.entrance}&token=x` }, 401],
    ["a token in another path", { cookie: undefined, url: `/x${door.entrance}` }, 401],
    ["no path", { cookie: undefined, url: undefined }, 401],
  ])("%s is refused", (_, facts, status) => {
    expect(from(facts)).toMatchObject({ kind: "refused", status });
  });
});

test("a wrong token does not use up the right one", () => {
  const door = new Door(port);
  expect(door.check({ ...good, url: "/?token=x" })).toMatchObject({ status: 401 });
  expect(door.check({ ...good, host: "evil.example", url: door.entrance })).toMatchObject({
    status: 403,
  });
  expect(door.check({ ...good, url: door.entrance })).toMatchObject({ kind: "welcomed" });
});
