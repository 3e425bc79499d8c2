import type { KubeClient } from "../../../access/kube-client.ts";
import { recordAt } from "../../../api/fields.ts";
import { mapLimited } from "../concurrency.ts";
import type { Permission } from "./permissions.ts";

const apiVersion = "authorization.k8s.io/v1";
const asked = 16;

/** One verb on one resource, in every namespace. */
export interface Right {
  readonly group: string;
  /** With the subresource: `pods/log`. */
  readonly resource: string;
  readonly verb: string;
}

/** Asks the cluster of a client whether its identity has a right. Throws what KubeClient throws. */
export async function isAllowed(
  { group, resource: path, verb }: Right,
  client: Pick<KubeClient, "request">,
  signal: AbortSignal,
): Promise<boolean> {
  const [resource = "", subresource] = path.split("/");
  const resourceAttributes = {
    group,
    resource,
    verb,
    ...(subresource === undefined ? {} : { subresource }),
  };
  const review = { apiVersion, kind: "SelfSubjectAccessReview", spec: { resourceAttributes } };
  const url = `/apis/${apiVersion}/selfsubjectaccessreviews`;
  const answer = await client.request("POST", url, review, signal);
  return recordAt(answer, "status")["allowed"] === true;
}

/** A permission with what the cluster says to each of its verbs. */
export interface Reviewed extends Pick<Permission, "group" | "resource" | "purpose"> {
  readonly allowed: readonly string[];
  readonly missing: readonly string[];
}

/** Asks for all permissions in one batch. An identity that may do everything is asked once. */
export async function reviewAll(
  permissions: readonly Permission[],
  client: Pick<KubeClient, "request">,
  signal: AbortSignal,
): Promise<readonly Reviewed[]> {
  const everything = { group: "*", resource: "*", verb: "*" };
  const isAdmin = await isAllowed(everything, client, signal);
  const rights = permissions.flatMap((permission) =>
    permission.verbs.map((verb) => ({ permission, verb })),
  );
  const answers = await mapLimited(rights, asked, ({ permission: { group, resource }, verb }) =>
    isAdmin ? Promise.resolve(true) : isAllowed({ group, resource, verb }, client, signal),
  );
  return permissions.map((permission) => {
    const { group, resource, purpose } = permission;
    const verbsSaid = (wanted: boolean): readonly string[] =>
      rights.flatMap((right, at) =>
        right.permission === permission && answers[at] === wanted ? [right.verb] : [],
      );
    return { group, resource, purpose, allowed: verbsSaid(true), missing: verbsSaid(false) };
  });
}
