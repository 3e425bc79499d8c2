import type { KubeClient } from "../../../access/kube/kube-client.ts";

/** A client with which everything fails after so many writes, as for a process that died. */
export function mortal(client: KubeClient, lastWrite: number): KubeClient {
  let writes = 0;
  const write = async <T>(send: () => Promise<T>): Promise<T> => {
    if (writes === lastWrite) throw new Error("The process is dead");
    writes += 1;
    return send();
  };
  return {
    ...client,
    create: (...args) => write(() => client.create(...args)),
    replace: (...args) => write(() => client.replace(...args)),
    remove: (...args) => write(() => client.remove(...args)),
  };
}
