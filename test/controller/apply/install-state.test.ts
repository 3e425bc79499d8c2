import { describe, expect, test } from "vitest";

import { objectId } from "../../../api/keys.ts";
import {
  initialState,
  type InstallState,
  inventoryFor,
  inventoryOf,
  isStored,
  isToAudit,
  wasAnchorMarked,
  withAccepted,
  withAudit,
  withoutAnchor,
  withReadAnchor,
  withWrittenAnchor,
} from "../../../controller/apply/install-state.ts";
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

function remembering(): InstallState {
  return withAccepted(withReadAnchor(initialState, anchorWith(before)), [{ entry: accepted }]);
}

test("an audit is due of each object until that is accepted, and asked for again of all", () => {
  let state = remembering();
  const id = objectId(config);
  expect(isToAudit(state, id)).toBe(false);
  state = withAudit(state);
  expect(isToAudit(state, id)).toBe(true);
  state = withAccepted(state, [{ entry: accepted }]);
  expect(isToAudit(state, id)).toBe(false);
  expect(isToAudit(state, "another")).toBe(true);
  state = withAudit(state);
  expect(isToAudit(state, id)).toBe(true);
  state = { ...state, audited: undefined };
  expect(isToAudit(state, id)).toBe(false);
});

describe("what is known of an installation", () => {
  test("is whether the anchor had its marks since somebody knows of it", () => {
    let state = initialState;
    const root = anchorWith(before);
    const stripped = { ...root, isMarked: false };
    state = withReadAnchor(state, stripped);
    expect(wasAnchorMarked(state, stripped)).toBe(false);
    state = withReadAnchor(state, root);
    state = withReadAnchor(state, stripped);
    expect(wasAnchorMarked(state, stripped)).toBe(true);
    const other = { ...anchorWith(before, "other-uid"), isMarked: false };
    state = withReadAnchor(state, other);
    expect(wasAnchorMarked(state, other)).toBe(false);
    state = withWrittenAnchor(state, other);
    expect(wasAnchorMarked(state, other)).toBe(true);
  });

  test("is nothing at first", () => {
    const state = initialState;
    expect(inventoryOf(state)).toBeUndefined();
    expect(inventoryFor(state, desired, true).entries).toEqual([{ ...config, hash: "" }]);
    expect(isStored(state, { ...before, entries: [] })).toBe(false);
  });

  test("is newer than the anchor while that says what it last said", () => {
    let state = remembering();
    state = withReadAnchor(state, anchorWith(before));
    expect(inventoryOf(state)?.entries).toEqual([accepted]);
    expect(isStored(state, inventoryFor(state, desired, true))).toBe(false);
  });

  test("is that an anchor was lost until another one is stored", () => {
    let state = remembering();
    state = withReadAnchor(state, undefined);
    state = withReadAnchor(state, undefined);
    expect(state.anchor.kind).toBe("lost");
    state = withWrittenAnchor(state, anchorWith(before, "other-uid"));
    expect(state.anchor.kind).toBe("anchored");
    state = withoutAnchor(state);
    state = withReadAnchor(state, undefined);
    expect(state.anchor.kind).toBe("none");
  });

  test("tells no hash of what is to be replaced, but that something was accepted", () => {
    let state = remembering();
    const [wanted] = desired.objects;
    expect(inventoryFor(state, desired, false).entries).toEqual([{ ...accepted, hash: "" }]);
    const replacing = { ...accepted, hash: wanted?.hash ?? "" };
    state = withAccepted(state, [{ entry: replacing }]);
    expect(inventoryFor(state, desired, false).entries).toEqual([replacing]);
  });

  test("is stored when the anchor was written with it", () => {
    let state = remembering();
    const inventory = inventoryFor(state, desired, true);
    state = withWrittenAnchor(state, anchorWith(inventory));
    expect(isStored(state, inventory)).toBe(true);
    expect(isStored(state, { ...inventory, complete: false })).toBe(false);
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
    let state = remembering();
    state = withReadAnchor(state, root);
    expect(inventoryOf(state)?.entries).toEqual(entries);
  });
});
