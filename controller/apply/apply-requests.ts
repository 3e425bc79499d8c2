import type { KubeClient, ObjectRef } from "../../access/kube-client.ts";
import type { KubeObject, Manifest } from "../../api/kubernetes.ts";
import type { ApplyRequests } from "./apply.ts";
import { type Contestant, contestantsOf } from "./contestants.ts";
import { isHandedOver, withoutHandedOver } from "./hand-over.ts";
import { bodyOf, type Installation, type Prepared } from "./prepare.ts";

export interface RequestDeps {
  readonly client: Pick<KubeClient, "get" | "apply" | "remove">;
  readonly fieldManager: string;
  readonly installation: Installation;
  /** Objects may be there already, so that fields may have been handed over. */
  readonly mayExist: boolean;
}

/** The requests of an apply, and the question who else wants an object otherwise. */
export interface EngineRequests extends ApplyRequests {
  /** Asked before the object is sent, which takes every field back; see contestants.ts. */
  contestants(object: Prepared, signal: AbortSignal): Promise<readonly Contestant[]>;
}

/** The requests of an apply: one for each object, and a look before it for the few with fields that others take over. */
export function applyRequests(deps: RequestDeps): EngineRequests {
  const { client, fieldManager, installation, mayExist } = deps;
  const options = { fieldManager, force: true, metadataOnly: true };
  const toSend = async (object: Prepared, signal: AbortSignal): Promise<Manifest> => {
    const body = bodyOf(object, installation);
    const live =
      mayExist && isHandedOver(body)
        ? await client.get(refOf(object), { metadataOnly: true }, signal)
        : undefined;
    return live === undefined ? body : withoutHandedOver(body, live, fieldManager);
  };
  return {
    send: async (object, signal): Promise<KubeObject> =>
      client.apply(refOf(object), await toSend(object, signal), options, signal),
    contestants: async (object, signal) =>
      contestantsOf({ ref: refOf(object), body: await toSend(object, signal) }, deps, signal),
    remove: async (object, signal) => {
      await client.remove(refOf(object), { propagationPolicy: "Background" }, signal);
    },
  };
}

function refOf({ resource, key }: Prepared): ObjectRef {
  return { ...key, resource };
}
