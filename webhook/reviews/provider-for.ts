import type { Provider, ProviderFile } from "../../access/providers/provider-config.ts";
import { selectProvider } from "../../access/providers/select-provider.ts";
import type { ClusterProfile } from "../../api/cluster-profile.ts";
import { FleetError } from "../../api/errors.ts";

/** The provider of a file that the controller would reach a profile with, or why there is none. */
export function providerFor(profile: ClusterProfile, file: ProviderFile): Provider | FleetError {
  try {
    return selectProvider(profile, file).provider;
  } catch (error) {
    if (error instanceof FleetError) return error;
    throw error;
  }
}
