import { AnswerBudget } from "../../access/answer-budget.ts";
import type { ProviderFile } from "../../access/provider-config.ts";
import { accessOf, resolveAccess, type ResolvedAccess } from "../../access/resolved-access.ts";
import { selectProvider } from "../../access/select-provider.ts";
import { connectSpoke, freshCredential, type SpokeDeps } from "../../access/spoke-connection.ts";
import { FleetError } from "../../api/errors.ts";
import type { SpokesAccess } from "./cluster-access.ts";
import type { HubProviderFile } from "./hub-provider-file.ts";
import { UnreadError } from "./spoke-reading.ts";

// No limit on plugins but the number of spokes read at once: a plugin that hangs must not hold back other spokes.

/** The spokes by a provider file of this machine. */
export function namedSpokes(providers: ProviderFile, options: SpokeDeps): SpokesAccess {
  const deps = { answers: new AnswerBudget(), ...options };
  return {
    reach: (profile, deadline) => connectSpoke({ profile, providers }, deps, deadline),
    ways: {
      resolve: (profile) => accessOf(profile, selectProvider(profile, providers)),
      credential: (access, deadline) => freshCredential(access, deps, deadline),
    },
  };
}

/** The spokes by the provider file of the hub, as far as it is followed on this machine. */
export function hubSpokes(
  { file, environment, refusal }: HubProviderFile,
  options: Omit<SpokeDeps, "environment" | "pluginRoots">,
): SpokesAccess {
  const deps = { answers: new AnswerBudget(), ...options, environment };
  const checked = (access: ResolvedAccess): ResolvedAccess => {
    const message = refusal(access);
    if (message === undefined) return access;
    throw new FleetError("AccessProviderFailed", message, { code: "PluginNotAllowed" });
  };
  return {
    async reach(profile, deadline) {
      const message = refusal(resolveAccess(profile, file));
      // That is about this machine; it is no fault of the fleet.
      if (message !== undefined) {
        throw new UnreadError({ state: "Unknown", reason: "PluginNotRun", message });
      }
      return await connectSpoke({ profile, providers: file }, deps, deadline);
    },
    ways: {
      resolve: (profile) => checked(accessOf(profile, selectProvider(profile, file))),
      credential: (access, deadline) => freshCredential(checked(access), deps, deadline),
    },
    fromHub: { file, environment },
  };
}
