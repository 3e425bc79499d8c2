import { expect, test } from "vitest";

import { objectId } from "../../../api/keys.ts";
import { entryOf, withReadAnchor } from "../../../controller/apply/install-state.ts";
import { InstallationMemory } from "../../../controller/apply/installation-memory.ts";
import { anchorWith } from "./stored-anchor.ts";

const config = { apiVersion: "v1", kind: "ConfigMap", namespace: "knative", name: "a" };
const inventory = { version: "1.0.0", complete: true, entries: [] };

test("what was accepted is in the state at once, in the order of the answers and of all other changes", () => {
  const memory = new InstallationMemory();
  const hashOf = () => entryOf(memory.state, objectId(config))?.hash;
  memory.become((state) => withReadAnchor(state, anchorWith(inventory)));
  memory.accept({ entry: { ...config, hash: "first" } });
  memory.accept({ entry: { ...config, hash: "second" }, appliedAt: 7 });
  expect(hashOf()).toBe("second");
  expect(memory.state.appliedAt.get(objectId(config))).toBe(7);

  // Another inventory is read after the answer, and replaces it.
  memory.accept({ entry: { ...config, hash: "third" } });
  const entries = [{ ...config, hash: "read" }];
  memory.become((state) => {
    expect(entryOf(state, objectId(config))?.hash).toBe("third");
    return withReadAnchor(state, anchorWith({ ...inventory, entries }));
  });
  expect(hashOf()).toBe("read");
});
