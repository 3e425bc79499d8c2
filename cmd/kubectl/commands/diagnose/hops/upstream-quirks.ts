import { ServedProfiles } from "../../../../../access/kube/profile-versions.ts";
import type { Provider } from "../../../../../access/providers/provider-config.ts";
import type { SelectedProvider } from "../../../../../access/providers/select-provider.ts";
import {
  clusterProfileApiVersion,
  type AccessCluster,
} from "../../../../../api/cluster-profile.ts";
import { knownResource } from "../../../../../api/resources.ts";
import { ifDenied } from "../../../if-denied.ts";
import { itemsAt, stringAt } from "../../../selection/fields.ts";
import type { WalkContext } from "../walk-context.ts";
import { finding, type Finding } from "./hop.ts";

/**
 * What the upstream operator does with a way in otherwise than this walk, which goes as knfleet's controller does: fields that it
 * ignores (cli.md, D6), and what one ClusterProfile adds that reaches others (D7).
 */
export async function upstreamQuirks(
  { provider, entry }: SelectedProvider,
  context: WalkContext & { readonly signal: AbortSignal },
): Promise<readonly Finding[]> {
  return [...ignoredFields(entry.cluster ?? {}), ...(await sharedAdditions(provider, context))];
}

const notRead = ["tls-server-name", "insecure-skip-tls-verify"] as const;

function ignoredFields(cluster: AccessCluster): readonly Finding[] {
  const ignored = notRead.filter((field) => ![undefined, "", false].includes(cluster[field]));
  if (ignored.length === 0) return [];
  const message = `The upstream operator ignores ${ignored.join(" and ")} of the ClusterProfile`;
  const next = [
    "give the API server a certificate for the host in server, and its authority in certificate-authority-data",
  ];
  return [finding("warning", "KNF2007", { message, next })];
}

async function sharedAdditions(
  { name, argsPolicy, envPolicy }: Provider,
  { hub, signal }: Pick<WalkContext, "hub"> & { readonly signal: AbortSignal },
): Promise<readonly Finding[]> {
  const policies = [
    ...(argsPolicy === "Ignore" ? [] : [`profileSourcedCLIArgsPolicy: ${argsPolicy}`]),
    ...(envPolicy === "Ignore" ? [] : [`profileSourcedEnvVarsPolicy: ${envPolicy}`]),
  ];
  if (policies.length === 0) return [];
  const resource = knownResource(clusterProfileApiVersion, "ClusterProfile");
  const list = await new ServedProfiles(hub).list({ resource }, {}, signal).catch(ifDenied);
  const offering = (list?.items ?? []).filter((profile) =>
    ["accessProviders", "credentialProviders"].some((field) =>
      itemsAt(profile, "status", field).some((offer) => stringAt(offer, "name") === name),
    ),
  );
  if (offering.length < 2) return [];
  const message = `The upstream operator hands what one ClusterProfile adds to provider ${JSON.stringify(name)} on to the others that offer it: ${offering.length} do`;
  return [finding("warning", "KNF1020", { message, evidence: policies })];
}
