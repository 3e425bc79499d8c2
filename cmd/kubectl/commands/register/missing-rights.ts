import { unlessDenied } from "../../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import { isAllowed, type Right } from "../can-i/access-review.ts";

/** The rights that the caller lacks on a cluster, in words. Throws the errors of KubeClient. */
export async function missingRights(
  rights: readonly Right[],
  client: KubeClient,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const answers = await Promise.all(rights.map((right) => isAllowed(right, client, signal)));
  return rightTexts(rights.filter((_, at) => answers[at] === false));
}

/** Rights in words: the verbs on a kind in one text. */
export function rightTexts(rights: readonly Right[]): readonly string[] {
  return [...Map.groupBy(rights, placeText)].map(
    ([place, all]) => `${all.map(({ verb }) => verb).join(" and ")} ${place}`,
  );
}

function placeText({ resource, group, namespace }: Right): string {
  const where = namespace === undefined ? "" : ` in namespace ${namespace}`;
  return `${resource}${group === "" ? "" : `.${group}`}${where}`;
}

/** A namespace; undefined when it does not exist or may not be read. Throws the errors of KubeClient. */
export function readNamespace(
  name: string,
  client: KubeClient,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  const ref = { resource: knownResource("v1", "Namespace"), name };
  return unlessDenied(client.get(ref, { metadataOnly: true }, signal));
}
