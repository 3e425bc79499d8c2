import { expect, test } from "vitest";

import type { StageSpec } from "../../../../api/fleet-set.ts";
import { goodSpec, reviewSet, writtenSet } from "./set-stage.ts";

const ofGroup = (name: string, decisionGroup: string): StageSpec => ({ name, decisionGroup });
const inRing = (name: string, ring: string): StageSpec => ({
  name,
  selector: { matchLabels: { ring } },
});

test.each<{ name: string; stages: readonly StageSpec[]; empty: readonly number[] }>([
  {
    name: "that each have other clusters",
    stages: [ofGroup("a", "x"), ofGroup("b", "y"), inRing("c", "0"), inRing("d", "1")],
    empty: [],
  },
  {
    name: "of which two have the same decision group",
    stages: [ofGroup("a", "x"), ofGroup("b", "y"), ofGroup("c", "x")],
    empty: [2],
  },
  {
    name: "of which two have the same selector",
    stages: [inRing("a", "0"), inRing("b", "1"), inRing("c", "0")],
    empty: [2],
  },
  {
    name: "of which the first selects by properties alone",
    stages: [
      { name: "a", selector: { matchProperties: [{ name: "gpu", operator: "Exists" }] } },
      { name: "all", selector: {} },
      inRing("b", "1"),
    ],
    empty: [2],
  },
  {
    name: "after one for all clusters",
    stages: [inRing("a", "0"), { name: "all", selector: {} }, ofGroup("b", "x")],
    empty: [2],
  },
])("of stages $name these never have a cluster: $empty", async ({ stages, empty }) => {
  const { warnings } = await reviewSet(writtenSet({ ...goodSpec, rollout: { stages } }));
  const told = warnings.filter((line) => line.includes("never has a cluster"));
  expect(told.map((line) => line.split(":")[0])).toEqual(
    empty.map((index) => `spec.rollout.stages[${index}]`),
  );
});

test.each([
  { name: "prod", kind: "KnativeServingSet", refused: 1 },
  { name: "other", kind: "KnativeServingSet", refused: 0 },
  { name: "prod", kind: "KnativeEventingSet", refused: 0 },
])(
  "a set that comes after $kind $name is refused $refused times",
  async ({ name, kind, refused }) => {
    const { violations } = await reviewSet(
      writtenSet({ ...goodSpec, rollout: { after: { kind, name } } }),
    );
    const own = violations.filter(({ path }) => path === "spec.rollout.after");
    expect(own).toHaveLength(refused);
  },
);
