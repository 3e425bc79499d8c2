import type { Manifest } from "../../api/kubernetes.ts";
import type { AuditedRequest } from "../fleet/audit-log.ts";
import type { Cluster } from "../fleet/cluster.ts";
import { valueAt } from "../fleet/json-record.ts";
import { listAt, rulesOf } from "./rendered.ts";

/** One thing that an account may do: a verb on a resource, everywhere or in a namespace, on all objects or some. */
interface Right {
  readonly namespace: string | undefined;
  readonly group: string;
  /** With the subresource: `knativeservings/status`. */
  readonly resource: string;
  readonly verb: string;
  readonly names: readonly string[];
}

/** What is wrong with the rights of an account: requests that lacked one, and rights that no request needed. */
export interface RightsReport {
  readonly refused: readonly string[];
  readonly unused: readonly string[];
}

/** Compares what a ServiceAccount was asked to do by its program since a time with what the objects of a chart let it do. */
export async function rightsReport(
  { auditLog }: Cluster,
  account: { readonly namespace: string; readonly name: string; readonly since: Date },
  objects: readonly Manifest[],
): Promise<RightsReport> {
  const user = `system:serviceaccount:${account.namespace}:${account.name}`;
  const all = await auditLog.requests({ since: account.since });
  const requests = all.filter((request) => request.user === user);
  const refused = requests.filter(({ code }) => code === 403);
  const rights = rightsOf(account.name, objects);
  const unused = rights.filter((right) => !requests.some((request) => isUse(right, request)));
  return {
    refused: refused.map(({ verb, uri }) => `${verb} ${uri}`),
    unused: unused.map(describeRight),
  };
}

/** Every right that the objects of a chart give a ServiceAccount. */
function rightsOf(account: string, objects: readonly Manifest[]): readonly Right[] {
  const bindings = objects.filter((one) =>
    listAt(one, "subjects").some((subject) => valueAt(subject, "name") === account),
  );
  return bindings.flatMap((binding) => {
    const { namespace } = binding.metadata;
    const role = objects.find(
      (one) =>
        one.kind === valueAt(binding, "roleRef", "kind") &&
        one.metadata.name === valueAt(binding, "roleRef", "name") &&
        one.metadata.namespace === namespace,
    );
    if (role === undefined) throw new Error(`${binding.metadata.name} binds no role of the chart`);
    return rulesOf(role).flatMap((rule) => {
      const names = rule.resourceNames ?? [];
      return rule.apiGroups.flatMap((group) =>
        rule.resources.flatMap((resource) =>
          rule.verbs.map((verb) => ({ namespace, group, resource, verb, names })),
        ),
      );
    });
  });
}

/** `verb group/resource`, with namespace and names where the right has them. */
function describeRight({ namespace, group, resource, verb, names }: Right): string {
  const where = namespace === undefined ? "" : ` in ${namespace}`;
  const which = names.length === 0 ? "" : ` (${names.join(", ")})`;
  return `${verb} ${group}/${resource}${which}${where}`;
}

/** Whether a request made use of a right. */
function isUse(right: Right, request: AuditedRequest): boolean {
  const { resource, subresource } = request;
  return (
    right.verb === request.verb &&
    right.group === request.apiGroup &&
    right.resource === (subresource === "" ? resource : `${resource}/${subresource}`) &&
    (right.namespace === undefined || right.namespace === request.namespace) &&
    (right.names.length === 0 || right.names.includes(nameOf(request)))
  );
}

/** The object that is meant; lists and watches say it in their query. */
function nameOf({ name, uri }: AuditedRequest): string {
  if (name !== "") return name;
  const selector = new URL(uri, "https://hub").searchParams.get("fieldSelector") ?? "";
  return /^metadata\.name=(.+)$/.exec(selector)?.[1] ?? "";
}
