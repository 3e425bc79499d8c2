import { describe, expect, test } from "vitest";

import { createKubeClient } from "../../../access/kube/create-kube-client.ts";
import { knownResource } from "../../../api/resources.ts";
import { startApiStub, type StubAnswer } from "../api-stub.ts";
import { requesterTo, serverIdentity, untilTheEnd } from "../loopback.ts";

const signal = AbortSignal.timeout(600_000);
const resource = knownResource("v1", "ConfigMap");
const gone = {
  status: 410,
  body: JSON.stringify({ kind: "Status", code: 410, reason: "Expired", message: "too old" }),
};

function page(names: readonly string[], next = ""): StubAnswer {
  const metadata = { resourceVersion: "1", continue: next };
  const items = names.map((name) => ({ metadata: { name, uid: name, resourceVersion: "1" } }));
  return { body: JSON.stringify({ metadata, items }) };
}

/** What a list says that a server answers with these, one after the other, and what the server was asked. */
async function listed(answers: readonly StubAnswer[]) {
  const left = [...answers];
  const answer = (): StubAnswer => left.shift() ?? { status: 500 };
  const api = untilTheEnd(await startApiStub({ identity: serverIdentity, answer }));
  const said = await createKubeClient(requesterTo(api))
    .list({ resource }, {}, signal)
    .then(
      ({ items }) => items.map(({ metadata }) => metadata.name).join(" "),
      (error: unknown) => (error instanceof Error ? error.message : ""),
    );
  const asked = api.requests.map(({ path }) => path.split("?")[1] ?? "everything");
  return { said, asked };
}

describe("a list in pages", () => {
  test("begins anew, and at once, when the server forgot what it began with", async () => {
    const answers = [page(["a", "b"], "more"), gone, page(["b", "c"])];
    expect(await listed(answers)).toEqual({
      said: "b c",
      asked: ["limit=500", "limit=500&continue=more", "everything"],
    });
  });

  test.each([
    { name: "in the first page", answers: [gone], asked: 1 },
    { name: "once more", answers: [page(["a"], "more"), gone, gone], asked: 3 },
  ])("that is too old $name fails", async ({ answers, asked }) => {
    const found = await listed(answers);
    expect(found.said).toBe("too old");
    expect(found.asked).toHaveLength(asked);
  });
});
