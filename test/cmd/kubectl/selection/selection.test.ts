import { describe, expect, test } from "vitest";

import { allKinds } from "../../../../api/component.ts";
import { UsageError } from "../../../../cmd/kubectl/errors.ts";
import {
  isSelected,
  missingNames,
  readNames,
} from "../../../../cmd/kubectl/selection/selection.ts";

const serving = "KnativeServing";
const eventing = "KnativeEventing";

describe("arguments select installations", () => {
  test.each([
    { args: [], kinds: allKinds, names: [] },
    { args: ["ks"], kinds: [serving], names: [] },
    { args: ["knativeeventings"], kinds: [eventing], names: [] },
    { args: ["ks,ke"], kinds: allKinds, names: [] },
    { args: ["ks/a"], kinds: [serving], names: [{ kind: serving, name: "a" }] },
    { args: ["KnativeServing/a"], kinds: [serving], names: [{ kind: serving, name: "a" }] },
    {
      args: ["knativeserving.operator.knative.dev/a", "ke/b"],
      kinds: allKinds,
      names: [
        { kind: serving, name: "a" },
        { kind: eventing, name: "b" },
      ],
    },
    {
      args: ["ke", "a", "b"],
      kinds: [eventing],
      names: [
        { kind: eventing, name: "a" },
        { kind: eventing, name: "b" },
      ],
    },
    { args: ["knative-serving"], kinds: allKinds, names: [{ name: "knative-serving" }] },
    { args: ["a", "ke/b"], kinds: allKinds, names: [{ name: "a" }, { kind: eventing, name: "b" }] },
  ])("$args", ({ args, kinds, names }) => expect(readNames(args)).toEqual({ kinds, names }));

  test.each([[["pods/a"]], [["ks/"]], [["ks/a/b"]], [["ks", "ke/b"]], [["ks,pods"]]])(
    "%j is a usage error",
    (args) => expect(() => readNames(args)).toThrow(UsageError),
  );
});

describe("a selection", () => {
  const selection = readNames(["ks/a", "b"]);

  test.each([
    [{ kind: serving, name: "a" } as const, true],
    [{ kind: eventing, name: "a" } as const, false],
    [{ kind: serving, name: "b" } as const, true],
    [{ kind: eventing, name: "b" } as const, true],
    [{ kind: eventing, name: "c" } as const, false],
  ])("of ks/a and b has %j: %s", (key, wanted) => expect(isSelected(selection, key)).toBe(wanted));

  test("names what was asked for and not found", () => {
    expect(missingNames(selection, [{ kind: "KnativeEventing", name: "b" }])).toEqual([
      'knativeservings.operator.knative.dev "a"',
    ]);
    expect(missingNames(selection, [])).toEqual([
      'knativeservings.operator.knative.dev "a"',
      'installation "b"',
    ]);
  });
});
