import type { Provider, ProviderFile } from "../../access/providers/provider-config.ts";
import { distrustedProfile } from "../../access/providers/reference-policy.ts";
import { isHealthy, selectProvider } from "../../access/providers/select-provider.ts";
import type { ClusterProfile } from "../../api/cluster-profile.ts";
import { FleetError } from "../../api/errors.ts";
import type { ComponentFacts, Check, Subject } from "./rule.ts";

const path = "spec.clusterProfileRef";

/** The profile is there and healthy. Told only to those who may use it. */
export const profileUsable: Check = (subject, facts) => {
  const { ref } = subject;
  if (ref === undefined || facts.mayUse !== true) return [];
  const name = `ClusterProfile "${ref.namespace}/${ref.name}"`;
  switch (facts.profile) {
    case undefined:
      return [];
    case "unknown":
      return [{ path, message: `${name} could not be looked up` }];
    case "absent":
      return [{ path, message: `${name} does not exist yet; nothing is installed until it does` }];
    default:
      return isHealthy(facts.profile)
        ? []
        : [
            {
              path,
              message: `${name} is not ready: its condition ControlPlaneHealthy is not True`,
            },
          ];
  }
};

/** The controller believes the profile. */
export const profileTrusted: Check = (subject, facts) => {
  const found = profileOf(subject, facts);
  const distrust =
    found === undefined ? undefined : distrustedProfile(found, facts.references ?? {});
  return distrust === undefined ? [] : [{ path, message: `ReferenceNotPermitted: ${distrust}` }];
};

/** One of the provider files on the hub serves the profile. */
export const providerThere: Check = (subject, facts) => {
  const found = profileOf(subject, facts);
  if (found === undefined || facts.providers === undefined) return [];
  const tried = facts.providers.map((file) => providerFor(found, file));
  const problems = tried.filter((one) => one instanceof FleetError);
  const [first] = problems;
  return first === undefined || problems.length < tried.length
    ? []
    : [{ path, message: first.message }];
};

/** The plugin of the provider is there. */
export const pluginThere: Check = (subject, facts) =>
  profileOf(subject, facts) === undefined || facts.pluginProblem === undefined
    ? []
    : [{ path, message: facts.pluginProblem }];

/** The profile, where somebody may hear of it. */
function profileOf(
  { ref }: Subject,
  { mayUse, profile }: ComponentFacts,
): ClusterProfile | undefined {
  if (ref === undefined || mayUse !== true) return undefined;
  return typeof profile === "object" ? profile : undefined;
}

/** The provider of a file that the controller would reach a profile with, or why there is none. */
export function providerFor(profile: ClusterProfile, file: ProviderFile): Provider | FleetError {
  try {
    return selectProvider(profile, file).provider;
  } catch (error) {
    if (error instanceof FleetError) return error;
    throw error;
  }
}
