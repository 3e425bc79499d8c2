import type { ProviderFile } from "../../access/providers/provider-config.ts";
import { resolveAccess, type ResolvedAccess } from "../../access/spokes/resolved-access.ts";
import type { AccessProvider, ClusterProfile } from "../../api/cluster-profile.ts";
import { FleetError } from "../../api/errors.ts";
import { entryOf, fileOf, profileOf, rawProvider } from "./builders.ts";

/** Any object. */
export type Fields = Readonly<Record<string, unknown>>;

/** Names of the extensions that mean something. */
export const execName = "client.authentication.k8s.io/exec";
export const argsName = "clusterprofiles.multicluster.x-k8s.io/exec/additional-args";
export const envName = "clusterprofiles.multicluster.x-k8s.io/exec/additional-envs";
/** Configuration of the plugin in `p0`. */
export const config = { clusterName: "spoke-1" };

/** An entry as that of P0, with these extensions beside the plugin's configuration. */
export function offer(name: string, extensions: Fields = {}, cluster: Fields = {}): AccessProvider {
  const all = Object.entries({ [execName]: config, ...extensions });
  const list = all.map(([title, extension]) => ({ name: title, extension }));
  return entryOf(name, { extensions: list, ...cluster });
}

/** A healthy profile with these entries. */
export function offering(...entries: readonly AccessProvider[]): ClusterProfile {
  return profileOf({ accessProviders: entries });
}

/** The profile and the file that the rows of section 8.1 of cluster-inventory.md change. */
export const p0 = offering(offer("sr"));
export const f0 = fileOf(rawProvider("sr"));

/** What came of a profile: provider, command, arguments and variables, or code and message of the failure. */
export function outcomeOf(profile: ClusterProfile, providers: ProviderFile = f0): Fields {
  try {
    const { provider, plan, endpoint, source, skipped } = resolveAccess(
      profile,
      providers,
      Date.now(),
    );
    const env = plan.env.map(({ name, value }) => `${name}=${value}`);
    const { command, args } = plan;
    return { provider, command, args, env, source, skipped, server: endpoint.server };
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    return { code: error.code ?? error.reason, message: error.message };
  }
}

/** What a profile resolves to; throws `FleetError`. */
export function accessOf(profile: ClusterProfile, providers: ProviderFile = f0): ResolvedAccess {
  return resolveAccess(profile, providers, Date.now());
}
