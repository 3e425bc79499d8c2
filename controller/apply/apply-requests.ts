import type { KubeClient, ObjectRef } from "../../access/kube-client.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import type { ApplyRequests } from "./apply.ts";
import { isHandedOver, withoutHandedOver } from "./hand-over.ts";
import { bodyOf, type Installation, type Prepared } from "./prepare.ts";

export interface RequestDeps {
  readonly client: Pick<KubeClient, "get" | "apply" | "remove">;
  readonly fieldManager: string;
  readonly installation: Installation;
  /** Objects may be there already, so that fields may have been handed over. */
  readonly mayExist: boolean;
}

/** The requests of an apply: one for each object, and a look before it for the few with fields that others take over. */
export function applyRequests(deps: RequestDeps): ApplyRequests {
  const { client, fieldManager, installation, mayExist } = deps;
  const options = { fieldManager, force: true, metadataOnly: true };
  return {
    send: async (object, signal): Promise<KubeObject> => {
      const body = bodyOf(object, installation);
      const ref = refOf(object);
      const live =
        mayExist && isHandedOver(body)
          ? await client.get(ref, { metadataOnly: true }, signal)
          : undefined;
      const sent = live === undefined ? body : withoutHandedOver(body, live, fieldManager);
      return client.apply(ref, sent, options, signal);
    },
    remove: async (object, signal) => {
      await client.remove(refOf(object), { propagationPolicy: "Background" }, signal);
    },
  };
}

function refOf({ resource, key }: Prepared): ObjectRef {
  return { ...key, resource };
}
