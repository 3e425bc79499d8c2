import type { Case } from "./case.ts";
import { rolling } from "./limits.ts";

/** What blocked clusters hold up. Spec: sets.md R5. */
export const blockedCases: readonly Case[] = [
  rolling("a stage passes with as many blocked clusters as failures are allowed", "far done", {
    fields: { maxFailures: 1 },
    expect: { mark: "complete" },
  }),
  rolling("more blocked clusters keep a stage from passing, and are no failure", "far done", {
    expect: {
      mark: "",
      phase: "Rolling",
      waitingFor: "Stage rest waits: 1 cluster is blocked, maxFailures is 0",
    },
  }),
  rolling("a cluster that is blocked since its stamp keeps its slot", "taken old", {
    fields: { maxConcurrency: 1 },
    expect: {
      stamps: "",
      phase: "Rolling",
      waitingFor:
        "Stage rest waits: too many of its clusters are blocked and not ready, maxFailures is 0",
    },
  }),
  rolling("an obstacle frees no slot of a cluster that is not ready", "updating hanging old old", {
    fields: { maxConcurrency: 3 },
    obstacles: { "rest-1": "Refused", "rest-2": "NotPermitted" },
    expect: { stamps: "rest-3" },
  }),
  rolling("failed and blocked clusters share the budget", "late taken old old", {
    fields: { maxConcurrency: 2, maxFailures: 1 },
    expect: { stamps: "rest-3" },
  }),
  rolling("blocked clusters keep the others from nothing", "far old", {
    expect: { stamps: "rest-2", waitingFor: "" },
  }),
];
