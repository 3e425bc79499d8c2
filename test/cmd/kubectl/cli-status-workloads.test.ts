import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { component } from "./fleet-facts.ts";
import { runText } from "./run-text.ts";
import { startStubHub, type StubHub } from "./stub-hub.ts";
import { answersTriggers, trigger } from "./user-triggers.ts";

const installed = [
  component({ kind: "KnativeServing", cluster: null }),
  component({ kind: "KnativeEventing", cluster: null }),
];
const since = "2026-11-21T09:00:00Z";
const triggers = [trigger("orders", "True", since), trigger("mails", "False", since)];

let fine: StubHub;
let mute: StubHub;
beforeAll(async () => {
  fine = await startStubHub(installed, answersTriggers(triggers));
  mute = await startStubHub(installed, answersTriggers(undefined));
});
afterAll(async () => {
  for (const hub of [fine, mute]) await hub[Symbol.asyncDispose]();
});

/** The cells of a column, by the name of the installation. */
async function column(header: string, { env }: StubHub, ...args: readonly string[]) {
  const line = ["status", "-A", "--spoke-timeout", "60s", ...args];
  const { stdout } = await runText(line, { env });
  const [headers = [], ...rows] = stdout
    .split("\n")
    .filter((text) => text !== "")
    .map((text) => text.split(/ {2,}/));
  const at = headers.indexOf(header);
  return at < 0 ? undefined : Object.fromEntries(rows.map((row) => [row[1], row[at]]));
}

describe("status -o wide", () => {
  test("counts the workloads that need each installation, and those of them that are ready", async () => {
    expect(await column("WORKLOADS", fine, "-o", "wide")).toEqual({
      "knative-serving": "0/0",
      "knative-eventing": "1/2",
    });
  });

  test("says that they are not known where one kind may not be listed, and reads the rest", async () => {
    expect(await column("WORKLOADS", mute, "-o", "wide")).toEqual({
      "knative-serving": "<unknown>",
      "knative-eventing": "<unknown>",
    });
    const of = { "knative-serving": "v1.36.3", "knative-eventing": "v1.36.3" };
    expect(await column("KUBERNETES", mute, "-o", "wide")).toEqual(of);
  });
});

test.each([[[]], [["-o", "json"]], [["-o", "wide", "--no-live"]]])(
  "status %j lists no workloads",
  async (args) => {
    const before = fine.requests.length;
    expect(await column("WORKLOADS", fine, ...args)).toBeUndefined();
    const asked = fine.requests.slice(before).filter((one) => one.includes("triggers"));
    expect(asked).toEqual([]);
  },
);
