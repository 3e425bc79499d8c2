import { describe, expect, test } from "vitest";

import { AnswerBudget, type ClusterAnswers } from "../../access/answer-limits.ts";

/** A budget of 100 bytes, 60 for each cluster, and the names of the answers that were given up. */
function world() {
  const budget = new AnswerBudget({ total: 100, each: 60 });
  const lost: string[] = [];
  const open = (cluster: ClusterAnswers, name: string, bytes: number) => {
    const hold = cluster.open(() => void lost.push(name));
    hold.add(bytes);
    return hold;
  };
  return { budget, lost, open };
}

describe("answers that are read at the same time", () => {
  test("are kept within the budget", () => {
    const { budget, lost, open } = world();
    open(budget.cluster(), "a", 60);
    open(budget.cluster(), "b", 40);
    expect(lost).toEqual([]);
  });

  test("of one cluster above its part cost it the largest", () => {
    const { budget, lost, open } = world();
    const cluster = budget.cluster();
    open(cluster, "large", 40);
    open(cluster, "small", 20);
    open(cluster, "next", 10);
    expect(lost).toEqual(["large"]);
  });

  test("of all clusters above the budget cost the one that holds most its largest, not the one that comes", () => {
    const { budget, lost, open } = world();
    const hostile = budget.cluster();
    open(hostile, "hostile-1", 25);
    open(hostile, "hostile-2", 30);
    open(budget.cluster(), "other", 40);
    open(budget.cluster(), "healthy", 6);
    expect(lost).toEqual(["hostile-2"]);
  });

  test("of one that is larger than all that a cluster may hold are not read", () => {
    const { budget, lost, open } = world();
    open(budget.cluster(), "huge", 61);
    expect(lost).toEqual(["huge"]);
  });

  test("that were given up hold nothing, also when more comes", () => {
    const { budget, lost, open } = world();
    const cluster = budget.cluster();
    const huge = open(cluster, "huge", 61);
    huge.add(1_000);
    open(cluster, "next", 60);
    expect(lost).toEqual(["huge"]);
  });

  test("give their bytes back when they are done, once", () => {
    const { budget, lost, open } = world();
    const cluster = budget.cluster();
    const done = open(cluster, "done", 50);
    done[Symbol.dispose]();
    done[Symbol.dispose]();
    open(cluster, "next", 60);
    expect(lost).toEqual([]);
    open(cluster, "more", 1);
    expect(lost).toEqual(["next"]);
  });
});
