import type { KubeClient } from "../../../access/kube/kube-client.ts";
import type { Credential } from "../../../access/plugins/credential.ts";
import { withTimeout } from "../../../access/time/deadline.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import type { Component } from "../../../api/component.ts";
import { targetId } from "../../../api/keys.ts";
import { type ActionInput, askedOf, type OpenReading, openReading } from "../action.ts";
import type { Flags } from "../flags.ts";
import { selectInstallations } from "../hub/installations.ts";
import type { Environment } from "../hub/open-hub.ts";
import type { Asked } from "../output/notes.ts";
import { notFoundErrors, type ReportError } from "../output/report.ts";
import { type Commands, commandsOf } from "../output/steps.ts";
import { namedNamespace, namespaceOf } from "../selection/hub-namespace.ts";
import { readSelection } from "../selection/selection-file.ts";
import type { Selection } from "../selection/selection.ts";
import type { ClusterAccess } from "../spokes/cluster-access.ts";
import { keepSpokes } from "../spokes/kept-spokes.ts";
import { openClusterAccess } from "../spokes/open-cluster-access.ts";
import {
  readClusters,
  type ReadLimits,
  type ReadOne,
  readTargets,
  type ReadTarget,
  unreadErrors,
} from "../spokes/read-clusters.ts";
import type { SpokeFacts } from "../spokes/spoke-facts.ts";
import type { Reading } from "../spokes/spoke-reading.ts";

/** What was read from clusters. */
export class ClustersRead<Facts> {
  /** By `targetId` of the components. */
  readonly readings: ReadonlyMap<string, Reading<Facts>>;
  /** An error for each cluster that could not be read. */
  readonly unread: readonly ReportError[];

  constructor(readings: ReadonlyMap<string, Reading<Facts>>) {
    this.readings = readings;
    this.unread = unreadErrors(readings);
  }

  /** For the summary of a document. */
  get counts() {
    return { clusters: this.readings.size, unread: this.unread.length };
  }

  /** What the clusters that could be read have, by id. */
  get all(): readonly (readonly [id: string, facts: Facts])[] {
    return [...this.readings].flatMap(([id, reading]) =>
      reading.kind === "read" ? [[id, reading.facts] as const] : [],
    );
  }

  /** What the cluster of a component has. Undefined: it was not read. */
  of(component: Component): Facts | undefined {
    const reading = this.readings.get(targetId(component));
    return reading?.kind === "read" ? reading.facts : undefined;
  }
}

/** What a command has opened already, in place of its flags. */
interface Opened {
  readonly access: ClusterAccess;
  readonly selection: Selection;
  readonly limits: ReadLimits;
}

interface FleetOptions {
  readonly reachesSpokes: boolean;
  /** Whether the arguments name installations. */
  readonly selects: boolean;
  /** Without -A and -n: all namespaces, in place of that of the context. */
  readonly looksEverywhere?: boolean;
  readonly opened?: Opened;
  /** Called with every credential in use, so that a command can keep it out of its output. */
  readonly onCredential?: (credential: Credential) => void;
}

/** How a fleet differs from the one that it comes from. */
interface Differences extends Pick<FleetOptions, "opened" | "onCredential"> {
  readonly args?: readonly string[];
  readonly flags?: Flags;
  readonly signal?: AbortSignal;
}

/**
 * The fleet of a command line: its hub and its spokes, as arguments and flags select them. It reads, and never prints or writes. Everything is opened when it
 * is asked for first, and closed in the end.
 */
export class Fleet implements AsyncDisposable {
  readonly args: readonly string[];
  readonly flags: Flags;
  readonly env: Environment;
  readonly now: () => Date;
  readonly reachesSpokes: boolean;
  /** Aborts when the user interrupts, or when the time for the command is over. */
  readonly signal: AbortSignal;
  /** Commands with the flags for this fleet, to paste. */
  readonly commands: Commands;
  readonly #input: ActionInput<object>;
  readonly #options: FleetOptions;
  #access: Promise<ClusterAccess> | undefined;
  #lasting: ClusterAccess | undefined;
  #selection: Promise<Selection> | undefined;
  #reading: OpenReading | undefined;

  constructor(input: ActionInput<object>, options: FleetOptions, signal: AbortSignal) {
    const { args, flags: given, terminal } = input;
    const flags =
      options.looksEverywhere === true ? { ...given, namespace: namedNamespace(given) } : given;
    this.args = args;
    this.flags = flags;
    this.env = terminal.env;
    this.now = terminal.now;
    this.reachesSpokes = options.reachesSpokes;
    this.signal = signal;
    this.commands = commandsOf(flags);
    this.#input = { ...input, flags };
    this.#options = options;
  }

  /** The command line, for functions that take all of it. `options`: the flags of the command, under the names that those functions use. */
  asInput<Options>(options: Options): ActionInput<Options> {
    return { ...this.#input, options };
  }

  /** The fleet of the same command line, with some differences. It opens what it needs anew, and has to be closed. */
  with({ args, flags, signal = this.signal, ...options }: Differences): Fleet {
    const input = { ...this.#input, args: args ?? this.args, flags: flags ?? this.flags };
    return new Fleet(input, { ...this.#options, ...options }, signal);
  }

  /** The ways to the hub and to the spokes. Throws FleetError `ConfigInvalid`. */
  access(): Promise<ClusterAccess> {
    const { opened, onCredential } = this.#options;
    if (opened !== undefined) return Promise.resolve(opened.access);
    const observed = onCredential === undefined ? {} : { onCredential };
    const options = { env: this.env, spokes: this.reachesSpokes, ...observed };
    this.#access ??= openClusterAccess(this.flags, options, this.signal);
    return this.#access;
  }

  /** The same, with connections to spokes that stay open until the end. */
  async lastingAccess(): Promise<ClusterAccess> {
    return (this.#lasting ??= keepSpokes(await this.access()));
  }

  /** Asks the hub, within the time for one request. */
  async askHub<Answer>(
    ask: (hub: KubeClient, deadline: AbortSignal) => Promise<Answer>,
  ): Promise<Answer> {
    const { hub, hubTimeoutMs } = await this.access();
    return await ask(hub, withTimeout(systemClock, hubTimeoutMs, this.signal));
  }

  /** The namespace of the hub in which the command looks; undefined: all. */
  async namespace(): Promise<string | undefined> {
    return namespaceOf(this.flags, await this.access());
  }

  /** The installations that arguments, flags and `--filename` select. Throws UsageError. */
  selection(): Promise<Selection> {
    const { opened } = this.#options;
    if (opened !== undefined) return Promise.resolve(opened.selection);
    return (this.#selection ??= this.#readSelection());
  }

  async #readSelection(): Promise<Selection> {
    const args = this.#options.selects ? this.args : [];
    return await readSelection({ ...this.#input, args }, await this.access(), this.signal);
  }

  /** What the user asked for, for notes with commands to paste. */
  async asked(): Promise<Asked> {
    return askedOf(await this.selection(), this.flags);
  }

  /** The selected installations of the hub, and an error for each name that none has. Throws when the hub cannot be read. */
  async installations(): Promise<{
    readonly components: readonly Component[];
    readonly missing: readonly ReportError[];
  }> {
    const [access, selection] = [await this.access(), await this.selection()];
    const { components, missing } = await selectInstallations(access, selection, this.signal);
    return { components, missing: notFoundErrors(missing) };
  }

  /** The limits of reading many clusters. From now on the progress is shown. */
  limits(): ReadLimits {
    const { opened } = this.#options;
    if (opened !== undefined) return opened.limits;
    this.#reading ??= openReading(this.flags, this.#input.terminal);
    return this.#reading.limits;
  }

  /** Reads from each cluster once. One that cannot be read delays and fails no other. */
  async read<Facts>(
    targets: readonly ReadTarget[],
    ask: ReadOne<Facts>,
  ): Promise<ClustersRead<Facts>> {
    const deps = { access: await this.access(), limits: this.limits(), read: ask };
    return new ClustersRead(await readTargets(targets, deps, this.signal));
  }

  /** Reads what is installed on the clusters of components. */
  async readInstalled(components: readonly Component[]): Promise<ClustersRead<SpokeFacts>> {
    const deps = { access: await this.access(), limits: this.limits() };
    return new ClustersRead(await readClusters(components, deps, this.signal));
  }

  /** Clears the line that shows the progress. */
  endProgress(): void {
    this.#reading?.end();
    this.#reading = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.endProgress();
    await this.#lasting?.[Symbol.asyncDispose]();
    const access = await this.#access?.catch(() => undefined);
    await access?.[Symbol.asyncDispose]();
  }
}
