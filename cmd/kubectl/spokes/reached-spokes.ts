import { AnswerBudget } from "../../../access/answer-limits.ts";
import { PluginLimits } from "../../../access/plugins/plugin-limits.ts";
import type { ProviderFile } from "../../../access/providers/provider-config.ts";
import { selectProvider } from "../../../access/providers/select-provider.ts";
import {
  accessOf,
  resolveAccess,
  type ResolvedAccess,
} from "../../../access/spokes/resolved-access.ts";
import { connectSpoke } from "../../../access/spokes/spoke-connection.ts";
import { obtainFreshCredential, type SpokeDeps } from "../../../access/spokes/spoke-deps.ts";
import type { TurnWaits } from "../../../access/time/deadline.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { FleetError } from "../../../api/errors.ts";
import type { HubProviderFile } from "../hub/hub-provider-file.ts";
import type { SpokesAccess } from "./cluster-access.ts";
import { UnreadError } from "./spoke-reading.ts";

/** Reaches the spokes with a provider file of this machine. */
export function namedSpokes(providers: ProviderFile, options: SpokeDeps): SpokesAccess {
  const deps = { ...limitsOfCommand(), ...options };
  return {
    reach: (profile, deadline, waits) =>
      connectSpoke({ profile, providers }, withWaits(deps, waits), deadline),
    ways: {
      resolve: (profile) => accessOf(profile, selectProvider(profile, providers), Date.now()),
      credential: (access, deadline) => obtainFreshCredential(access, deps, deadline),
    },
  };
}

/** Reaches the spokes with the provider file of the hub, as far as this machine may run its plugins. */
export function hubSpokes(
  { file, environment, refusal }: HubProviderFile,
  options: Omit<SpokeDeps, "environment" | "pluginRoots">,
): SpokesAccess {
  const deps = { ...limitsOfCommand(), ...options, environment };
  const assertAllowed = (access: ResolvedAccess): ResolvedAccess => {
    const message = refusal(access);
    if (message === undefined) return access;
    throw new FleetError("AccessProviderFailed", message, { code: "PluginNotAllowed" });
  };
  return {
    async reach(profile, deadline, waits) {
      const message = refusal(resolveAccess(profile, file, Date.now()));
      // The reason is this machine, and no fault of the fleet.
      if (message !== undefined) {
        throw new UnreadError({ state: "Unknown", reason: "PluginNotRun", message });
      }
      return await connectSpoke({ profile, providers: file }, withWaits(deps, waits), deadline);
    },
    ways: {
      resolve: (profile) =>
        assertAllowed(accessOf(profile, selectProvider(profile, file), Date.now())),
      credential: (access, deadline) =>
        obtainFreshCredential(assertAllowed(access), deps, deadline),
    },
    fromHub: { file, environment },
  };
}

/** Limits that all clusters of one command share. */
function limitsOfCommand(): Pick<SpokeDeps, "answers" | "plugins"> {
  return { answers: new AnswerBudget(), plugins: new PluginLimits(systemClock) };
}

function withWaits(deps: SpokeDeps, waits: TurnWaits | undefined): SpokeDeps {
  return waits === undefined ? deps : { ...deps, waits };
}
