import { ApiError } from "../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import {
  deniedRightIn,
  type Right,
  rightText,
  rightTexts,
  rightTo,
} from "../../../access/kube/missing-right.ts";
import type { KubeObject, ObjectKey } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import { UsageError } from "../errors.ts";
import { isAllowed } from "./access-review.ts";

/** The rights that the caller lacks on a cluster. Asks for the objects by their names only where the right does not hold for all names. Throws the errors of KubeClient. */
export async function missingRights(
  rights: readonly Right[],
  client: KubeClient,
  signal: AbortSignal,
): Promise<readonly Right[]> {
  const lacking = async (all: readonly Right[]): Promise<readonly Right[]> => {
    const answers = await Promise.all(all.map((right) => isAllowed(right, client, signal)));
    return all.filter((_, at) => answers[at] === false);
  };
  const general = distinctRights(rights.map(ofEveryName));
  const lacked = new Set((await lacking(general)).map(rightText));
  return lacking(rights.filter((right) => lacked.has(rightText(right))));
}

function ofEveryName(right: Right): Right {
  const { name: _, ...general } = right;
  return general;
}

/** The rights to delete objects, each once. */
export function rightsToDelete(
  keys: readonly Pick<ObjectKey, "apiVersion" | "kind" | "namespace" | "name">[],
): readonly Right[] {
  return distinctRights(
    keys.map(({ apiVersion, kind, namespace, name }) => ({
      ...rightTo("delete", knownResource(apiVersion, kind), namespace),
      name,
    })),
  );
}

/** Rights without those that come twice. */
export function distinctRights(rights: readonly Right[]): readonly Right[] {
  const named = rights.map((right) => [`${rightText(right)} ${right.name ?? ""}`, right] as const);
  return [...new Map(named).values()];
}

/** The sentence for rights that are missing. `texts`: of `rightTexts`. */
export function lackText(where: string, texts: readonly string[]): string {
  return `You lack rights on ${where}: ${texts.join(", ")}`;
}

/** Says of a read that was denied which right is missing. Throws UsageError for it, and all other errors again. */
export function throwDenied(where: string): (error: unknown) => never {
  return (error) => {
    const isDenied = error instanceof ApiError && error.status === 403;
    const right = isDenied ? deniedRightIn(error.message) : undefined;
    if (right === undefined) throw error;
    throw new UsageError(lackText(where, rightTexts([right])));
  };
}

/** Reads objects on which a refusal depends. An object that may not be read does not count as absent: the right to read it is missing. */
export class NeededReads implements Pick<KubeClient, "get"> {
  readonly #client: Pick<KubeClient, "get">;
  readonly #asked: { readonly right: Right; isDenied: boolean }[] = [];

  constructor(client: Pick<KubeClient, "get">) {
    this.#client = client;
  }

  /** The object; undefined when it does not exist or may not be read. Throws the other errors of KubeClient. */
  async get(...[ref, options, signal]: Parameters<KubeClient["get"]>) {
    const asked = { right: rightTo("get", ref.resource, ref.namespace), isDenied: false };
    this.#asked.push(asked);
    try {
      return await this.#client.get(ref, options, signal);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 403) throw error;
      asked.isDenied = true;
      return undefined;
    }
  }

  /** Metadata of a namespace. */
  namespace(name: string, signal: AbortSignal): Promise<KubeObject | undefined> {
    const ref = { resource: knownResource("v1", "Namespace"), name };
    return this.get(ref, { metadataOnly: true }, signal);
  }

  /** The rights of the reads that were denied, in the order of the reads. */
  get denied(): readonly Right[] {
    return this.#asked.filter(({ isDenied }) => isDenied).map(({ right }) => right);
  }
}
