import { duration } from "./duration.ts";
import { flag, int32, intOrString, rules, text } from "./primitives.ts";
import { profileSelector } from "./profile-selector.ts";
import { verify } from "./verify-spec.ts";

/** A whole number, or a percentage of the clusters of a stage. */
const share = (description: string, minimum: 0 | 1) =>
  ({
    ...intOrString,
    minimum,
    pattern: minimum === 0 ? "^(0|[1-9][0-9]?|100)%$" : "^([1-9][0-9]?|100)%$",
    description,
  }) as const;

const windows = {
  type: "array",
  maxItems: 8,
  "x-kubernetes-list-type": "atomic",
  description: "When clusters may start; changes in progress continue. Empty: always.",
  items: {
    type: "object",
    required: ["cron", "duration"],
    "x-kubernetes-validations": rules([
      "duration(self.duration) >= duration('10m') && duration(self.duration) <= duration('168h')",
      "a window is from 10m to 168h long",
    ]),
    properties: {
      cron: { ...text("Start of the window, in five cron fields."), minLength: 9, maxLength: 128 },
      duration: duration("Length of the window, from 10m to 168h."),
      timeZone: { ...text("IANA name; default UTC."), maxLength: 64 },
    },
  },
} as const;

const stage = {
  type: "object",
  required: ["name"],
  "x-kubernetes-validations": rules([
    "has(self.selector) != has(self.decisionGroup)",
    "exactly one of selector and decisionGroup has to be present",
  ]),
  properties: {
    name: { ...text("Name of the stage."), pattern: "^[a-z0-9-]{1,40}$" },
    selector: {
      ...profileSelector,
      description:
        "Clusters of the stage, by labels and properties of their ClusterProfiles; a cluster belongs to the first stage that matches.",
    },
    decisionGroup: {
      ...text("Clusters of the stage: a decision group of the Placement."),
      minLength: 1,
      maxLength: 63,
    },
    maxConcurrency: share(
      "Clusters that may change at the same time; default 10%, at least one.",
      1,
    ),
    maxFailures: share("Clusters that may fail before the rollout stops; default 0.", 0),
    maxUnreachable: share("Clusters that may be unreachable; default 10%, at least one.", 0),
    before: {
      type: "object",
      description: "What the stage waits for before its first cluster.",
      properties: { approval: flag("Whether somebody has to approve."), windows },
    },
    after: {
      type: "object",
      description: "What the next stage waits for.",
      "x-kubernetes-validations": rules([
        "!has(self.soak) || duration(self.soak) <= duration('720h')",
        "a soak is at most 720h long",
      ]),
      properties: {
        soak: duration("How long the finished stage is watched; at most 720h, default 0s."),
        approval: flag("Whether somebody has to approve, after the soak."),
      },
    },
    verify: { ...verify, description: `${verify.description} In place of rollout.verify.` },
  },
} as const;

/** `spec.rollout` of a set. Spec: sets.md 5. */
export const rollout = {
  type: "object",
  description: "In which order and how fast the clusters change.",
  properties: {
    stages: {
      type: "array",
      maxItems: 32,
      items: stage,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
    },
    unmatched: {
      type: "string",
      enum: ["Last", "Exclude", "Refuse"],
      default: "Last",
      description:
        "Clusters of no stage: Last puts them into a last stage, Exclude excludes them, Refuse stops the rollout.",
    },
    order: {
      type: "string",
      pattern: "^(Hashed|Name|Label:.{1,317})$",
      default: "Hashed",
      description:
        "Order inside a stage: Hashed (a different order for each revision), Name or Label:KEY.",
    },
    after: {
      type: "object",
      required: ["kind", "name"],
      description:
        "Another set of the namespace: a cluster that both select begins when that set is done there.",
      properties: {
        kind: { type: "string", enum: ["KnativeServingSet", "KnativeEventingSet"] },
        name: { ...text("Name of the set."), minLength: 1, maxLength: 52 },
      },
    },
    windows,
    verify,
    minReadySeconds: {
      ...int32,
      minimum: 0,
      maximum: 86_400,
      default: 0,
      description: "How long a cluster has to be ready before it is done, in seconds.",
    },
    progressDeadline: {
      type: "string",
      pattern: "^(([0-9]+(h|m|s))+|None)$",
      maxLength: 32,
      default: "15m",
      description: "Time after which a cluster that is not done counts as failed; None: never.",
    },
    maxUnreachable: share("Default of maxUnreachable for stages without it.", 0),
    onFailure: {
      type: "string",
      enum: ["Pause", "Rollback"],
      default: "Pause",
      description: "What happens when more clusters of a stage failed than it allows.",
    },
    paused: { ...flag("Whether no further cluster starts."), default: false },
  },
} as const;
