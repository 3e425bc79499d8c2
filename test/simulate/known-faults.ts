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
    seed: 14,
  },
  {
    name: "begins all stages at once",
    file: "sets/decide.ts",
    from: "const isDue = progress.every(({ status }) => isPassed(status));",
    to: "const isDue = true;",
    problem: "begins",
    seed: 14,
  },
  {
    name: "lets a component go without removing anything",
    file: "controller/uninstall/uninstall.ts",
    from: "await checkAndRemove(attempt, deps, signal);",
    to: "",
    problem: "is let go while",
    seed: 8,
  },
  {
    name: "does not notice that an object of a spoke was deleted",
    file: "controller/observe/observe.ts",
    from: "onGone: (object) => this.#takeDeletion(object),",
    to: "onGone: () => undefined,",
    problem: "differs",
    seed: 7,
  },
  {
    name: "forgets to record where it installs",
    file: "controller/reconcile/hold.ts",
    from: "  if (component.spec?.clusterProfileRef === undefined) return {};\n  const hasNamespace",
    to: "  if (component.spec !== undefined) return {};\n  const hasNamespace",
    problem: "before the hub has its place",
    seed: 7,
  },
  {
    name: "stamps a cluster again that has the revision",
    file: "sets/cluster-state.ts",
    from: 'return isPromised && hasRevision(child, revision) && "hash" in desired && hash === desired.hash;',
    to: "return false;",
    problem: "stamped twice",
    seed: 14,
  },
  {
    name: "passes a stage that nobody approved",
    file: "sets/stage-progress.ts",
    from: 'if (stage.spec.after?.approval !== true) return { state: "Passed", ...done };',
    to: 'if (stage.spec.name !== "") return { state: "Passed", ...done };',
    problem: "without an approval",
    seed: 14,
  },
  {
    name: "frees the slot of a cluster that changes when the set is edited",
    file: "sets/stages.ts",
    from: "const next = [...first(unready, slots), ...first(ready, slots - unready.length)];",
    to: "const next = first(pending, slots);",
    problem: "clusters of stage",
    seed: 33,
  },
  {
    name: "forgets the works of a component that it has taken back",
    file: "controller/pull/hand-back.ts",
    from: 'if (outcome !== undefined) return { kind: "backoff" };',
    to: "",
    problem: "is left",
    seed: 4,
  },
  {
    name: "lets a pulled component go before its work is gone",
    file: "controller/pull/remove-pulled.ts",
    from: "assertInTime(work, deps);",
    to: "return undefined;",
    problem: "is let go while",
    seed: 44,
  },
  {
    name: "believes what a spoke told of an earlier spec",
    file: "controller/pull/judge.ts",
    from: 'values.get("hubGeneration") === `${generation}` &&',
    to: "",
    problem: "its copy never was",
    seed: 44,
  },
  {
    name: "takes an installation back before the spoke has let go",
    file: "controller/reconcile/hand-over.ts",
    from: "if (!hasLetGo) {",
    to: 'if (hasLetGo && formerUid === "") {',
    problem: "is sent to",
    seed: 159,
  },
  {
    name: "believes its deletions",
    file: "controller/uninstall/finalize.ts",
    from: "await removeRemnants(sweep, patiently, signal);",
    to: "",
    problem: "is let go while",
    seed: 88,
  },
  {
    name: "forgets to soak",
    file: "sets/stage-progress.ts",
    from: "if (now < soakEnd) return soakingStep(stage, tally, { context, done, soakEnd });",
    to: "",
    problem: "too short",
    seed: 2,
  },
  {
    name: "goes on with a soak whose stage broke",
    file: "sets/stage-progress.ts",
    from: "const times: Times = hasBroken(tally) ? withoutDone(known) : known;",
    to: "const times: Times = known;",
    problem: "too short",
    seed: 67,
  },
  {
    name: "writes to a cluster before the hub has the finalizer",
    file: "controller/reconcile/hold.ts",
    from: "const held = await orThrowNotHeld(() => addFinalizer(latest, edit, signal), signal);",
    to: "void addFinalizer(latest, edit, signal).catch(() => undefined);\n    const held = latest;",
    problem: "before the hub has the finalizer",
    seed: 15,
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
    name: "calls a rollout complete while its stages are open",
    file: "sets/decide.ts",
    from: "progress.every(({ status }) => isPassed(status)) &&",
    to: "",
    problem: "is complete though",
    seed: 2,
  },
  {
    name: "leaves its policies on a cluster without installations",
    file: "controller/uninstall/uninstall.ts",
    from: "guard?.retire(component, signal),",
    to: "",
    problem: "is left on",
    seed: 4,
  },
  {
    name: "stamps clusters that are held",
    file: "sets/select-clusters.ts",
    from: "return isMarked(profile?.metadata.labels?.[holdLabel]);",
    to: "return false;",
    problem: "is held",
    seed: 5,
  },
  {
    name: "does not ask for the permit to write",
    file: "access/http/write-permit.ts",
    from: 'if (method !== "GET" && !mayWrite()) throw new WriteRefusedError();',
    to: "",
    problem: "holds the Lease",
    seed: 7,
  },
  {
    name: "does not ask what the users of a cluster noticed",
    file: "sets/verify.ts",
    from: "return workloads === undefined && checks.length === 0 ? undefined : found;",
    to: "return undefined;",
    problem: "passes stage",
    seed: 1,
  },
  {
    name: "rolls out a revision that it has given up",
    file: "sets/decide.ts",
    from: "return this.#update.failed ? this.#rollBack() : this.#rollOut();",
    to: "return this.#rollOut();",
    problem: "has given up",
    seed: 35,
  },
  {
    name: "goes back to a revision that was never complete",
    file: "sets/rollout-turns.ts",
    from: ".filter(({ completedNumber }) => completedNumber !== undefined)",
    to: ".filter(({ completedNumber, failed }) => completedNumber === undefined && !failed)",
    problem: "nor was ever complete",
    seed: 1,
  },
  {
    name: "stamps clusters again that are well when a user tries again",
    file: "sets/cluster-state.ts",
    from: "return isFailed(stateAfterStamp(facts, { ...timing, retriedAt: 0 }));",
    to: "return true;",
    problem: "stamped twice",
    seed: 3,
  },
  {
    name: "begins a soak anew for a cluster that failed before",
    file: "sets/tally.ts",
    from: "const hasJustFailed = isFailed(state) && standing?.hasFailed !== true;",
    to: "const hasJustFailed = isFailed(state);",
    problem: "begins anew",
    seed: 22,
  },
  {
    name: "takes the readiness from before a stamp for the readiness after it",
    file: "sets/cluster-state.ts",
    from: "const isOfSpec = isObserved(child) && isOfVersion(child, version) && hasContent(child);",
    to: "const isOfSpec = isOfVersion(child, version);",
    problem: "stage",
    seed: 86,
  },
  {
    name: "halts when as many clusters failed as may",
    file: "sets/stage-progress.ts",
    from: "if (hasBegun(context) && tally.failed > tally.maxFailures) return haltedStep(times, tally, stage);",
    to: "if (hasBegun(context) && tally.failed >= Math.max(1, tally.maxFailures)) return haltedStep(times, tally, stage);",
    problem: "halts though",
    seed: 22,
  },
];

/** Faults whose seed is still to be found: `npm run simulate -- --known-faults` looks for all. */
const soughtFaults: readonly Fault[] = [
  {
    name: "takes a webhook that has not decided for one that allows",
    file: "controller/verify/ask-webhook.ts",
    from: 'throw new Unasked(message || "the server has not decided yet");',
    to: 'return { kind: "good", message: "" };',
    problem: "no word of the gate",
  },
  {
    name: "does not tell a spoke what the hub has taken away",
    file: "controller/pull/works.ts",
    from: "annotations: { [workHashAnnotation]: hashOf(spec) },",
    to: "annotations: {},",
    problem: "At the end",
  },
  {
    name: "takes an error for a proof that nothing was pushed",
    file: "controller/pull/remove-pulled.ts",
    from: "if (answer !== false && wasPushed(component)) {",
    to: "if (answer === undefined) {",
    problem: "is let go while",
  },
  {
    name: "goes on with an installation that a spoke pulls",
    file: "controller/pull/pull.ts",
    from: "await stopManaging(attempt, deps);",
    to: "",
    problem: "is sent to",
  },
  {
    name: "remembers who is being installed for ever",
    file: "controller/reconcile/neighbours.ts",
    from: "this.#claims.delete(metadata.uid);",
    to: "void metadata;",
    problem: "AnchorConflict",
  },
];

export const allFaults: readonly Fault[] = [...knownFaults, ...soughtFaults];

/** The fault with a name. Throws when there is none. */
export function faultNamed(name: string): Fault {
  const fault = allFaults.find((one) => one.name === name);
  if (fault === undefined) throw new Error(`No known fault ${name}`);
  return fault;
}
