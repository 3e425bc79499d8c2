import { afterAll, beforeAll, expect, test } from "vitest";

import { useSpokes } from "../../fleet/use-fleet.ts";
import { type ComparedServer, Conversation } from "./conversation.ts";
import { definition, definitionsPath, namespaceIn } from "./requests.ts";
import { scenarios } from "./scenarios.ts";
import { realServer, simulatedServer } from "./servers.ts";

const fleet = useSpokes(1);
let real: ComparedServer & Disposable;
let simulated: ComparedServer & Disposable;

beforeAll(async () => {
  real = realServer(fleet().spoke(0));
  simulated = simulatedServer();
  for (const server of [real, simulated]) {
    const talk = new Conversation(server);
    await server.ask({ method: "POST", path: definitionsPath, body: definition });
    await talk.askUntil({ path: "/apis/compared.test/v1/things" }, ({ status }) => status === 200);
  }
}, 600_000);

afterAll(() => {
  real[Symbol.dispose]();
  simulated[Symbol.dispose]();
});

/** Plays a scenario in a namespace of its own, and returns what was said. */
async function played(server: ComparedServer, index: number): Promise<readonly unknown[]> {
  const talk = new Conversation(server);
  await scenarios[index]?.play(talk, await namespaceIn(server, index));
  await talk.end();
  expect(talk.transcript.length).toBeGreaterThan(0);
  return talk.transcript;
}

test.concurrent.each(scenarios.map(({ name }, index) => ({ name, index })))(
  "a simulated cluster $name as a real one",
  async ({ index }) => {
    const [said, wanted] = await Promise.all([played(simulated, index), played(real, index)]);
    expect(said).toEqual(wanted);
  },
  120_000,
);
