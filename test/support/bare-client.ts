import type { KubeClient } from "../../access/kube/kube-client.ts";

/** What nobody may call. */
export function unexpected(): never {
  throw new Error("The test expects no such request");
}

/** A client with these methods only. */
export function bareClient(methods: Partial<KubeClient>): KubeClient {
  return {
    server: "https://cluster.example",
    request: unexpected,
    get: unexpected,
    list: unexpected,
    watch: unexpected,
    create: unexpected,
    apply: unexpected,
    replace: unexpected,
    patch: unexpected,
    remove: unexpected,
    removeCollection: unexpected,
    ...methods,
  };
}
