import { isRecord, listAt, recordAt, textAt } from "../../../api/fields.ts";
import type { Cluster } from "../../fleet/fleet.ts";
import type { PolicyRule } from "../../fleet/service-accounts.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import type { AskedRight } from "./asked-right.ts";

/** A user who has all rights, or all but one. */
export interface LimitedUser {
  readonly token: string;
  /** Takes a right away, and gives back the one that was taken before. Undefined: all rights. Resolves when the API server obeys. */
  take(right: AskedRight | undefined): Promise<void>;
}

const verbs = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
// To give away more than one has, and what knfleet's own rules ask for.
const special = ["bind", "escalate", "use", "approve"];
const account = { namespace: "bench", name: "limited" };

/** Makes the user with all rights. */
export async function allRights(cluster: Cluster): Promise<LimitedUser> {
  const resources = await resourcesOf(cluster);
  const { token } = await cluster.serviceAccountToken({
    ...account,
    rules: rulesWithout(resources, undefined),
  });
  let taken: AskedRight | undefined;
  return {
    token,
    async take(asked) {
      const { admin } = cluster;
      // A command may ask for a kind that the cluster does not serve. Nobody has given the right to that.
      const isServed = asked !== undefined && resources.get(asked.group)?.includes(asked.resource);
      const right = isServed === true ? asked : undefined;
      const metadata = { name: `test:${account.namespace}:${account.name}` };
      const role = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata };
      await admin.apply({ ...role, rules: rulesWithout(resources, right) });
      const before = taken;
      taken = right;
      await waitFor("the rights to be as they were given", async () => {
        const has = before === undefined || (await isAllowed(cluster, before));
        return has && (right === undefined || !(await isAllowed(cluster, right)));
      });
    },
  };
}

/** Names of resources and subresources by group. */
type Resources = ReadonlyMap<string, readonly string[]>;

async function resourcesOf({ admin }: Cluster): Promise<Resources> {
  const groups = listAt(recordAt(await admin.request("GET", "/apis")), "groups");
  const versions = groups
    .filter(isRecord)
    .flatMap((group) => listAt(group, "versions"))
    .map((version) => textAt(recordAt(version), "groupVersion") ?? "");
  const all = ["v1", ...versions].map(async (version) => {
    const path = version === "v1" ? "/api/v1" : `/apis/${version}`;
    const served = listAt(recordAt(await admin.request("GET", path)), "resources");
    const group = version.includes("/") ? (version.split("/")[0] ?? "") : "";
    return served.map((one) => ({ group, name: textAt(recordAt(one), "name") ?? "" }));
  });
  const byGroup = Map.groupBy((await Promise.all(all)).flat(), ({ group }) => group);
  return new Map(
    [...byGroup].map(([group, ones]) => [group, [...new Set(ones.map(({ name }) => name))]]),
  );
}

function rulesWithout(
  resources: Resources,
  missing: AskedRight | undefined,
): readonly PolicyRule[] {
  const rules = [...resources].flatMap(([group, names]): readonly PolicyRule[] => {
    const apiGroups = [group];
    const isMissing = (name: string): boolean =>
      missing?.group === group && missing.resource === name;
    return [
      { apiGroups, resources: names.filter((name) => !isMissing(name)), verbs },
      { apiGroups, resources: names, verbs: special },
      {
        apiGroups,
        resources: names.filter(isMissing),
        verbs: verbs.filter((verb) => verb !== missing?.verb),
      },
    ];
  });
  return [
    ...rules.filter(({ resources: names = [] }) => names.length > 0),
    { nonResourceURLs: ["*"], verbs: ["get"] },
  ];
}

async function isAllowed({ admin }: Cluster, right: AskedRight): Promise<boolean> {
  const { verb, group } = right;
  const [resource = "", subresource = ""] = right.resource.split("/");
  const answer = await admin.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: {
      user: `system:serviceaccount:${account.namespace}:${account.name}`,
      resourceAttributes: { verb, group, resource, subresource },
    },
  });
  return recordAt(answer, "status")["allowed"] === true;
}
