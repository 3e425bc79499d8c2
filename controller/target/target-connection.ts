import { unlessDenied } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { Clock } from "../../access/time/clock.ts";
import { recordAt, textAt } from "../../api/fields.ts";
import { foreignText } from "../../api/foreign-text.ts";
import { knownResource } from "../../api/resources.ts";
import { SharedWatches } from "./shared-watches.ts";

/** A connection to a cluster as its owner hands it out: see ../../access/spokes/spokes.ts. */
interface OpenConnection {
  readonly client: KubeClient;
  /** Aborted when the connection ends. */
  readonly signal: AbortSignal;
}

// A server in the same network answers faster.
const farMs = 40;
const namespaces = knownResource("v1", "Namespace");

/** One connection to the cluster of components, and what this process learns of the cluster over it. All of it ends with the connection. */
export class TargetConnection implements OpenConnection {
  readonly client: KubeClient;
  readonly signal: AbortSignal;
  /** The watches that the components on the cluster share. */
  readonly watches: SharedWatches;
  readonly #clock: Clock;
  #version: string | undefined;
  #clusterId: string | undefined;
  #answerMs = 0;

  /** `clusterId`: known without asking. */
  constructor(
    { client, signal }: OpenConnection,
    { clock, fieldManager, clusterId }: TargetConnectionOptions,
  ) {
    this.client = client;
    this.signal = signal;
    this.watches = new SharedWatches(clock, client, fieldManager);
    this.#clock = clock;
    this.#clusterId = clusterId;
  }

  /** The cluster took long to tell its version. */
  get isFar(): boolean {
    return this.#answerMs >= farMs;
  }

  /** `gitVersion` of the cluster, asked once; undefined when the cluster does not tell it. Rejects when the request fails, unless it is denied, and with the reason of the signal. */
  async version(signal: AbortSignal): Promise<string | undefined> {
    if (this.#version !== undefined) return this.#version;
    const askedAt = this.#clock.now();
    this.#version = await readVersion(this.client, signal);
    this.#answerMs = this.#clock.now() - askedAt;
    return this.#version;
  }

  /** Asks for the version again next time: a cluster that is too old may be upgraded by then. */
  forgetVersion(): void {
    this.#version = undefined;
  }

  /** UID of the kube-system namespace, which identifies the cluster, asked once; undefined without the right to read it. Rejects when the request fails otherwise. */
  async clusterId(signal: AbortSignal): Promise<string | undefined> {
    if (this.#clusterId !== undefined) return this.#clusterId;
    const ref = { resource: namespaces, name: "kube-system" };
    const kubeSystem = await unlessDenied(this.client.get(ref, { metadataOnly: true }, signal));
    this.#clusterId = kubeSystem?.metadata.uid;
    return this.#clusterId;
  }
}

async function readVersion(
  client: Pick<KubeClient, "request">,
  signal: AbortSignal,
): Promise<string | undefined> {
  // Without the right to read the version, a cluster that is too old fails at the first request that it does not support.
  const answer = await unlessDenied(client.request("GET", "/version", undefined, signal));
  const version = textAt(recordAt(answer), "gitVersion");
  // The text appears in messages, and a cluster can send any text.
  return version === undefined ? undefined : foreignText(version, 64);
}

interface TargetConnectionOptions {
  readonly clock: Clock;
  /** Of everything that is applied over the connection. */
  readonly fieldManager: string;
  readonly clusterId?: string;
}

/** The connections of this process to the clusters of its components. */
export class TargetConnections {
  readonly #clock: Clock;
  readonly #byClient = new WeakMap<KubeClient, TargetConnection>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The connection behind a client. All callers get the same one. */
  over(
    connection: OpenConnection,
    options: Omit<TargetConnectionOptions, "clock">,
  ): TargetConnection {
    const known = this.#byClient.get(connection.client);
    if (known !== undefined) return known;
    const opened = new TargetConnection(connection, { clock: this.#clock, ...options });
    this.#byClient.set(connection.client, opened);
    return opened;
  }
}
