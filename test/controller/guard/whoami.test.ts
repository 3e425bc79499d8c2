import { expect, test } from "vitest";

import { SelfQuestion, servesPolicies, whoAmI } from "../../../controller/guard/whoami.ts";
import { settled } from "../../support/fake-clock.ts";
import { apiError } from "../observe/scripted-watches.ts";

const { signal } = new AbortController();
const userInfo = { username: "knfleet", groups: ["system:authenticated", 1] };
const metadata = { creationTimestamp: "2026-11-25T12:00:00Z" };

/** A client that answers one request after the other with these. */
function clientOf(...answers: readonly unknown[]) {
  const left = [...answers];
  const asked: string[] = [];
  const request = async (method: string, path: string): Promise<unknown> => {
    asked.push(`${method} ${path}`);
    const answer = left.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { client: { request }, asked };
}

const me = { username: "knfleet", groups: ["system:authenticated"] };

test("a cluster says who the controller is there, and what time it is", async () => {
  const { client, asked } = clientOf({ metadata, status: { userInfo } });
  const serverTimeMs = Date.parse(metadata.creationTimestamp);
  expect(await whoAmI(client, signal)).toEqual({ ...me, serverTimeMs });
  expect(asked).toEqual(["POST /apis/authentication.k8s.io/v1/selfsubjectreviews"]);
});

test("a cluster may not say what time it is", async () => {
  const { client } = clientOf({ status: { userInfo } });
  expect(await whoAmI(client, signal)).toEqual({ ...me, serverTimeMs: undefined });
});

test.each([{}, { status: { userInfo: { username: "" } } }])(
  "an answer without a user is none: %j",
  async (answer) => {
    const { client } = clientOf(answer);
    await expect(whoAmI(client, signal)).rejects.toThrow("SelfSubjectReview without a user name");
  },
);

test("an early question is sent once, and its answer serves once", async () => {
  const { client, asked } = clientOf({ status: { userInfo } }, { metadata, status: { userInfo } });
  const question = new SelfQuestion({ client, signal });
  question.askEarly();
  question.askEarly();
  expect(asked).toHaveLength(1);
  expect(await question.ask(signal)).toMatchObject({ serverTimeMs: undefined });
  expect(await question.ask(signal)).toMatchObject({ serverTimeMs: expect.any(Number) });
  expect(asked).toHaveLength(2);
});

test("an early question that failed is asked again", async () => {
  const { client } = clientOf(apiError(503, "starting"), { status: { userInfo } });
  const question = new SelfQuestion({ client, signal });
  question.askEarly();
  await settled();
  expect(await question.ask(signal)).toMatchObject(me);
});

const resourcesOf = (...names: readonly string[]) => ({
  resources: names.map((name) => ({ name })),
});
const [policies, bindings] = [
  "validatingadmissionpolicies",
  "validatingadmissionpolicybindings",
] as const;

test.each([
  { answer: resourcesOf(policies, bindings), serves: true },
  { answer: resourcesOf(policies), serves: false },
  { answer: resourcesOf(bindings), serves: false },
  { answer: apiError(404, "404 page not found"), serves: false },
])("$answer means that policies are served: $serves", async ({ answer, serves }) => {
  expect(await servesPolicies(clientOf(answer).client, signal)).toBe(serves);
});

test("whether policies are served is not known from another error", async () => {
  const error = apiError(503, "starting");
  await expect(servesPolicies(clientOf(error).client, signal)).rejects.toBe(error);
});
