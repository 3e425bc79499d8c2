/** A fault of the product that the simulation has to find: most were mended once. */
export interface Fault {
  /** What the controller does wrong. */
  readonly name: string;
  /** Path of the module in the project. */
  readonly file: string;
  /** Text of the module that is there exactly once. */
  readonly from: string;
  /** What stands in its place. */
  readonly to: string;
  /** A part of the problem that the simulation has to report. */
  readonly problem: string;
  /** Only worse lives find it. */
  readonly isWorse?: true;
}

export interface KnownFault extends Fault {
  /** A seed of the first 200 that finds it. */
  readonly seed: number;
}

export const knownFaults: readonly KnownFault[] = [
  {
    name: "stamps all clusters of a stage at once",
    file: "sets/stages.ts",
    from: "return Math.max(0, maxConcurrency - countInFlight(members) - excess);",
    to: "return members.length;",
    problem: "clusters of stage",
    seed: 3,
  },
  {
    name: "begins all stages at once",
    file: "sets/decide.ts",
    from: "const isDue = progress.every(({ status }) => isPassed(status));",
    to: "const isDue = true;",
    problem: "begins",
    seed: 3,
  },
  {
    name: "goes on with a soak whose stage broke",
    file: "sets/stage-progress.ts",
    from: "const times: Times = hasBroken(tally) ? withoutDone(known) : known;",
    to: "const times: Times = known;",
    problem: "too short",
    seed: 5,
  },
  {
    name: "forgets to soak",
    file: "sets/stage-progress.ts",
    from: "if (now < soakEnd) return soakingStep(stage, tally, { context, done, soakEnd });",
    to: "",
    problem: "too short",
    seed: 5,
  },
  {
    name: "lets a component go without removing anything",
    file: "controller/uninstall/uninstall.ts",
    from: "await checkAndRemove(attempt, deps, signal);",
    to: "",
    problem: "is let go while",
    seed: 1,
  },
  {
    name: "leaves its policies on a cluster without installations",
    file: "controller/uninstall/uninstall.ts",
    from: "guard?.retire(component, signal),",
    to: "",
    problem: "is left on",
    seed: 1,
  },
  {
    name: "takes a conflict over the finalizer for a success",
    file: "controller/reconcile/hold.ts",
    from: "if (error.status !== 409 || attempt === maxAttempts) throw error;",
    to: "if (error.status === 409) return current;",
    problem: "before the hub has the finalizer",
    seed: 3,
  },
  {
    name: "does not notice that an object of a spoke was deleted",
    file: "controller/observe/observe.ts",
    from: "onGone: (object) => this.#takeDeletion(object),",
    to: "onGone: () => undefined,",
    problem: "differs",
    seed: 2,
  },
  {
    name: "writes to a cluster before the hub has the finalizer",
    file: "controller/reconcile/hold.ts",
    from: "const held = await orThrowNotHeld(() => addFinalizer(latest, edit, signal), signal);",
    to: "void addFinalizer(latest, edit, signal).catch(() => undefined);\n    const held = latest;",
    problem: "before the hub has the finalizer",
    seed: 4,
  },
  {
    name: "does not ask for the permit to write",
    file: "access/http/write-permit.ts",
    from: 'if (method !== "GET" && !mayWrite()) throw new WriteRefusedError();',
    to: "",
    problem: "holds the Lease",
    seed: 28,
  },
  {
    name: "forgets to record where it installs",
    file: "controller/reconcile/hold.ts",
    from: "  if (component.spec?.clusterProfileRef === undefined) return {};\n  const hasNamespace",
    to: "  if (component.spec !== undefined) return {};\n  const hasNamespace",
    problem: "before the hub has its place",
    seed: 1,
  },
  {
    name: "stamps a cluster again that has the revision",
    file: "sets/cluster-state.ts",
    from: 'return isPromised && hasRevision(child, revision) && "hash" in desired && hash === desired.hash;',
    to: "return false;",
    problem: "stamped twice",
    seed: 3,
  },
  {
    name: "calls a rollout complete while its stages are open",
    file: "sets/decide.ts",
    from: "progress.every(({ status }) => isPassed(status)) &&",
    to: "",
    problem: "is complete though",
    seed: 3,
  },
  {
    name: "passes a stage that nobody approved",
    file: "sets/stage-progress.ts",
    from: 'if (stage.spec.after?.approval !== true) return { state: "Passed", ...done };',
    to: 'if (stage.spec.name !== "") return { state: "Passed", ...done };',
    problem: "without an approval",
    seed: 12,
  },
  {
    name: "stamps clusters that are held",
    file: "sets/select-clusters.ts",
    from: "return isMarked(profile?.metadata.labels?.[holdLabel]);",
    to: "return false;",
    problem: "is held",
    seed: 117,
  },
  {
    name: "does not ask what the users of a cluster noticed",
    file: "sets/verify.ts",
    from: "return workloads === undefined && checks.length === 0 ? undefined : found;",
    to: "return undefined;",
    problem: "passes stage",
    seed: 112,
  },
];

/** Faults for which a seed is still to be found: `npm run simulate -- --fault NAME` looks for one. */
const soughtFaults: readonly Fault[] = [
  {
    name: "takes the readiness from before a stamp for the readiness after it",
    file: "sets/cluster-state.ts",
    from: "const isOfSpec = isObserved(child) && isOfVersion(child, version) && hasContent(child);",
    to: "const isOfSpec = isOfVersion(child, version);",
    problem: "stage",
    isWorse: true,
  },
  {
    name: "frees the slot of a cluster that changes when the set is edited",
    file: "sets/stages.ts",
    from: "const next = [...first(unready, slots), ...first(ready, slots - unready.length)];",
    to: "const next = first(pending, slots);",
    isWorse: true,
    problem: "clusters of stage",
  },
  {
    name: "believes its deletions",
    file: "controller/uninstall/finalize.ts",
    from: "await removeRemnants(sweep, patiently, signal);",
    to: "",
    isWorse: true,
    problem: "is let go while",
  },
  {
    name: "rolls out a revision that it has given up",
    file: "sets/decide.ts",
    from: "return this.#update.failed ? this.#rollBack() : this.#rollOut();",
    to: "return this.#rollOut();",
    isWorse: true,
    problem: "has given up",
  },
  {
    name: "goes back to a revision that was never complete",
    file: "sets/rollout-turns.ts",
    from: ".filter(({ completedNumber }) => completedNumber !== undefined)",
    to: ".filter(({ completedNumber, failed }) => completedNumber === undefined && !failed)",
    isWorse: true,
    problem: "nor was ever complete",
  },
  {
    name: "stamps clusters again that are well when a user tries again",
    file: "sets/cluster-state.ts",
    from: "return isFailed(stateAfterStamp(facts, { ...timing, retriedAt: 0 }));",
    to: "return true;",
    isWorse: true,
    problem: "stamped twice",
  },
  {
    name: "takes a webhook that has not decided for one that allows",
    file: "controller/verify/ask-webhook.ts",
    from: 'throw new Unasked(message || "the server has not decided yet");',
    to: 'return { kind: "good", message: "" };',
    isWorse: true,
    problem: "no word of the gate",
  },
  {
    name: "halts when as many clusters failed as may",
    file: "sets/stage-progress.ts",
    from: "if (hasBegun(context) && tally.failed > tally.maxFailures) return haltedStep(times, tally, stage);",
    to: "if (hasBegun(context) && tally.failed >= Math.max(1, tally.maxFailures)) return haltedStep(times, tally, stage);",
    isWorse: true,
    problem: "halts though",
  },
  {
    name: "begins a soak anew for a cluster that failed before",
    file: "sets/tally.ts",
    from: "const hasJustFailed = isFailed(state) && standing?.hasFailed !== true;",
    to: "const hasJustFailed = isFailed(state);",
    isWorse: true,
    problem: "begins anew",
  },
];

/** The fault with a name. Throws when there is none. */
export function faultNamed(name: string): Fault {
  const fault = [...knownFaults, ...soughtFaults].find((one) => one.name === name);
  if (fault === undefined) throw new Error(`No known fault ${name}`);
  return fault;
}
