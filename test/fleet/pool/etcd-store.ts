import { Agent, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";

import { isRecord, valueAt } from "../json-record.ts";

/** One change of what etcd stores: a value for a key, or none to delete it. */
export interface Change {
  readonly key: string;
  readonly value: string | undefined;
}

/** What the etcd of a cluster stores under `/registry/`, through the JSON gateway on its socket. Values are in base64. */
export interface EtcdStore extends Disposable {
  /** The revision of the last change of each key. */
  revisions(): Promise<ReadonlyMap<string, string>>;
  values(): Promise<ReadonlyMap<string, StoredValue>>;
  value(key: string): Promise<string | undefined>;
  /** Makes all changes in one transaction. */
  change(changes: readonly Change[]): Promise<void>;
}

export interface StoredValue {
  readonly value: string;
  readonly revision: string;
}

// The end of a range is the first key behind it.
const everything = { key: encoded("/registry/"), range_end: encoded("/registry0") };

/** Opens a client; no connection is made before the first request. */
export function openEtcdStore(socketPath: string): EtcdStore {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const send = (path: string, body: unknown): Promise<unknown> =>
    post({ socketPath, agent, path }, JSON.stringify(body));
  const range = async (query: unknown): Promise<readonly Pair[]> =>
    pairsOf(await send("/v3/kv/range", query));
  return {
    async revisions() {
      const pairs = await range({ ...everything, keys_only: true });
      return new Map(pairs.map(({ key, revision }) => [key, revision]));
    },
    async values() {
      const pairs = await range(everything);
      return new Map(pairs.map(({ key, value, revision }) => [key, { value, revision }]));
    },
    async value(key) {
      return (await range({ key: encoded(key) }))[0]?.value;
    },
    async change(changes) {
      const success = changes.map(({ key, value }) =>
        value === undefined
          ? { request_delete_range: { key: encoded(key) } }
          : { request_put: { key: encoded(key), value } },
      );
      await send("/v3/kv/txn", { success });
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

interface Pair extends StoredValue {
  readonly key: string;
}

function pairsOf(answer: unknown): readonly Pair[] {
  const pairs = isRecord(answer) ? answer["kvs"] : undefined;
  if (!Array.isArray(pairs)) return [];
  return pairs.map((pair) => ({
    key: Buffer.from(textAt(pair, "key"), "base64").toString(),
    value: textAt(pair, "value"),
    revision: textAt(pair, "mod_revision"),
  }));
}

// The gateway leaves out what is empty.
function textAt(pair: unknown, name: string): string {
  const value = valueAt(pair, name);
  return typeof value === "string" ? value : "";
}

function encoded(key: string): string {
  return Buffer.from(key).toString("base64");
}

interface Gateway {
  readonly socketPath: string;
  readonly agent: Agent;
  readonly path: string;
}

async function post(gateway: Gateway, body: string): Promise<unknown> {
  const headers = { "content-type": "application/json" };
  const sent = request({ ...gateway, method: "POST", headers }).end(body);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    sent.once("response", resolve).once("error", reject);
  });
  const answer = await text(response);
  if (response.statusCode !== 200) throw new Error(`etcd answered: ${answer}`);
  return JSON.parse(answer);
}
