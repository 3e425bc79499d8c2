import type { KubeClient } from "../../../access/kube/kube-client.ts";

/** Where a process dies: with its n-th write not sent, or sent and not answered. */
export interface Death {
  readonly write: number;
  readonly side: "before" | "after";
}

/** The writes of one process to a cluster, and whether it is dead. */
export interface Dying {
  readonly client: KubeClient;
  readonly isDead: () => boolean;
}

/** A client of a process that dies: from then on it sends nothing at all. */
export function dyingClient(client: KubeClient, { write, side }: Death): Dying {
  let writes = 0;
  let dead = false;
  const alive = <Result>(work: () => Promise<Result>): Promise<Result> => (dead ? never() : work());
  const written = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (dead) return never();
    writes += 1;
    const isLast = writes >= write;
    dead ||= isLast;
    if (isLast && side === "before") return never();
    const result = await work();
    return isLast ? never() : result;
  };
  return {
    isDead: () => dead,
    client: {
      ...client,
      get: (...args) => alive(() => client.get(...args)),
      list: (...args) => alive(() => client.list(...args)),
      create: (...args) => written(() => client.create(...args)),
      apply: (...args) => written(() => client.apply(...args)),
      patch: (...args) => written(() => client.patch(...args)),
      replace: (...args) => written(() => client.replace(...args)),
      remove: (...args) => written(() => client.remove(...args)),
      removeCollection: (...args) => written(() => client.removeCollection(...args)),
    },
  };
}

function never(): Promise<never> {
  return Promise.reject(new Error("The process is dead"));
}
