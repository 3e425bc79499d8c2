import { beforeEach, expect, test } from "vitest";

import { Secret } from "../../../access/plugins/credential.ts";
import { SharedTokens } from "../../../access/spokes/path-metrics.ts";
import { takeSharedCredentialEvent } from "../../../controller/status/component-events.ts";
import { ToldEvents } from "../../../controller/status/told-events.ts";
import { serving } from "../../support/component.ts";

const component = serving({ spec: { clusterProfileRef: { namespace: "fleet", name: "a" } } });
const same = new Secret("Bearer T1");
let tokens: SharedTokens;
let toldEvents: ToldEvents;

beforeEach(() => {
  tokens = new SharedTokens();
  toldEvents = new ToldEvents();
  tokens.note("fleet/a", "https://a", same);
});

function told(): string | undefined {
  return takeSharedCredentialEvent(component, toldEvents, tokens)?.message;
}

test("an Event says once that a token is sent to others, and again when it is sent to more (T-21)", () => {
  expect(told()).toBeUndefined();
  tokens.note("fleet/b", "https://b", same);
  expect(takeSharedCredentialEvent(component, toldEvents, tokens)).toMatchObject({
    type: "Warning",
    reason: "SharedCredential",
    message: expect.stringContaining(
      "ClusterProfile fleet/a is also sent to the server of another",
    ),
  });
  expect(told()).toBeUndefined();
  tokens.note("other/c", "https://c", same);
  expect(told()).toContain("2 others");
  expect(told()).toBeUndefined();
});

test("when a token is its spoke's own again nothing is told, and a new sharing is news (T-21)", () => {
  tokens.note("fleet/b", "https://b", same);
  expect(told()).toBeDefined();
  tokens.note("fleet/b", "https://b", new Secret("Bearer T2"));
  expect(told()).toBeUndefined();
  tokens.note("fleet/b", "https://b", same);
  expect(told()).toBeDefined();
});

test("neither the token nor the names of others are in the Event (T-21)", () => {
  tokens.note("secret/b", "https://b", same);
  expect(told()).not.toMatch(/T1|secret/);
});

test("a component on the hub itself shares nothing", () => {
  tokens.note("fleet/b", "https://b", same);
  expect(takeSharedCredentialEvent(serving(), toldEvents, tokens)).toBeUndefined();
});
