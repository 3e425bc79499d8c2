import { describe, expect, test } from "vitest";

import { objectId } from "../../../api/keys.ts";
import { InstallationMemory } from "../../../controller/apply/installation-memory.ts";
import { prepare } from "../../../installation/desired.ts";
import type { Inventory } from "../../../installation/inventory.ts";
import { manifestOf } from "./prepared.ts";
import { anchorWith } from "./stored-anchor.ts";

const config = { apiVersion: "v1", kind: "ConfigMap", namespace: "knative", name: "a" };
const manifests = [manifestOf("v1 ConfigMap knative/a")];
const desired = prepare({ version: "1.0.0", manifests });
const before: Inventory = {
  version: "1.0.0",
  complete: true,
  entries: [{ ...config, hash: "old" }],
};
const accepted = { ...config, hash: "new", fingerprint: "f" };

function remembering(): InstallationMemory {
  const memory = new InstallationMemory();
  memory.recall(anchorWith(before));
  memory.record(accepted);
  return memory;
}

test("an audit is due of each object until that is accepted, and asked for again of all", () => {
  const memory = remembering();
  const id = objectId(config);
  expect(memory.isToAudit(id)).toBe(false);
  memory.isAuditDue = true;
  expect(memory.isToAudit(id)).toBe(true);
  memory.record(accepted);
  expect(memory.isToAudit(id)).toBe(false);
  expect(memory.isToAudit("another")).toBe(true);
  memory.isAuditDue = true;
  expect(memory.isToAudit(id)).toBe(true);
  memory.isAuditDue = false;
  expect(memory.isToAudit(id)).toBe(false);
});

describe("what is known of an installation", () => {
  test("is whether the anchor had its marks since somebody knows of it", () => {
    const memory = new InstallationMemory();
    const root = anchorWith(before);
    const stripped = { ...root, isMarked: false };
    memory.recall(stripped);
    expect(memory.wasMarked(stripped)).toBe(false);
    memory.recall(root);
    memory.recall(stripped);
    expect(memory.wasMarked(stripped)).toBe(true);
    const other = { ...anchorWith(before, "other-uid"), isMarked: false };
    memory.recall(other);
    expect(memory.wasMarked(other)).toBe(false);
    memory.noteWritten(other);
    expect(memory.wasMarked(other)).toBe(true);
  });

  test("is nothing at first", () => {
    const memory = new InstallationMemory();
    expect(memory.inventory).toBeUndefined();
    expect(memory.inventoryOf(desired, true).entries).toEqual([{ ...config, hash: "" }]);
    expect(memory.isStored({ ...before, entries: [] })).toBe(false);
  });

  test("is newer than the anchor while that says what it last said", () => {
    const memory = remembering();
    memory.recall(anchorWith(before));
    expect(memory.inventory?.entries).toEqual([accepted]);
    expect(memory.isStored(memory.inventoryOf(desired, true))).toBe(false);
  });

  test("is that an anchor was lost until another one is stored", () => {
    const memory = remembering();
    memory.recall(undefined);
    memory.recall(undefined);
    expect(memory.state.kind).toBe("lost");
    memory.noteWritten(anchorWith(before, "other-uid"));
    expect(memory.state.kind).toBe("anchored");
    memory.noteWithdrawn();
    memory.recall(undefined);
    expect(memory.state.kind).toBe("none");
  });

  test("tells no hash of what is to be replaced, but that something was accepted", () => {
    const memory = remembering();
    const [wanted] = desired.objects;
    expect(memory.inventoryOf(desired, false).entries).toEqual([{ ...accepted, hash: "" }]);
    const replacing = { ...accepted, hash: wanted?.hash ?? "" };
    memory.record(replacing);
    expect(memory.inventoryOf(desired, false).entries).toEqual([replacing]);
  });

  test("is stored when the anchor was written with it", () => {
    const memory = remembering();
    const inventory = memory.inventoryOf(desired, true);
    memory.noteWritten(anchorWith(inventory));
    expect(memory.isStored(inventory)).toBe(true);
    expect(memory.isStored({ ...inventory, complete: false })).toBe(false);
  });

  test.each([
    { name: "is another one", root: anchorWith(before, "other-uid"), entries: before.entries },
    {
      name: "was written by somebody else",
      root: anchorWith({ ...before, version: "1.1.0" }),
      entries: before.entries,
    },
    { name: "is gone", root: undefined, entries: undefined },
  ])("is what the anchor says when that $name", ({ root, entries }) => {
    const memory = remembering();
    memory.recall(root);
    expect(memory.inventory?.entries).toEqual(entries);
  });
});
