import { expect, test } from "vitest";

import { Conversation } from "./conversation.ts";
import { comparedShapesFile, shapeOf } from "./request-shape.ts";
import { definition, definitionsPath, namespaceIn } from "./requests.ts";
import { scenarios } from "./scenarios.ts";
import { simulatedServer } from "./servers.ts";

test("the shapes of the requests that are compared are written down for the simulation", async () => {
  const shapes = new Set<string>();
  using server = simulatedServer((request) => {
    const shape = shapeOf(request);
    if (shape !== undefined) shapes.add(shape);
  });
  await server.ask({ method: "POST", path: definitionsPath, body: definition });
  await Promise.all(
    scenarios.map(async ({ play }, index) => {
      const talk = new Conversation(server);
      await play(talk, await namespaceIn(server, index));
      await talk.end();
    }),
  );
  const text = [...shapes].toSorted().map((shape) => `${shape}\n`);
  await expect(text.join("")).toMatchFileSnapshot(comparedShapesFile);
});
