import { expect, test } from "vitest";

import { Installation } from "../../controller/installation.ts";
import type { Observation } from "../../controller/observe/observation.ts";
import { bareInstaller } from "./apply/bare-spoke.ts";
import { rootWith } from "./apply/stored-root.ts";
import { observeScripted, ScriptedWatches } from "./observe/scripted-watches.ts";

function open(): Observation {
  return observeScripted(new ScriptedWatches());
}

test("an installation of which nothing was seen is new, and one whose root is lost is not", async () => {
  const { client } = (await bareInstaller(() => undefined)).target;
  await using installation = new Installation("uid");
  expect(installation.wasInstalled).toBe(false);
  const { memory } = await installation.viewOver(client, open);
  memory.recall(undefined);
  expect(installation.wasInstalled).toBe(false);
  memory.recall(rootWith({ version: "", complete: false, entries: [] }));
  expect(installation.wasInstalled).toBe(true);
  memory.recall(undefined);
  expect([installation.inventory, installation.wasInstalled]).toEqual([undefined, true]);
  // Of its own accord it took back what it had begun.
  memory.withdrawn();
  expect(installation.wasInstalled).toBe(false);
});
