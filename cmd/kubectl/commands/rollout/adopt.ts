import { ApiError } from "../../../../access/kube/api-error.ts";
import type { ClusterProfile } from "../../../../api/cluster-profile.ts";
import type { Component } from "../../../../api/component.ts";
import { byText } from "../../../../api/fields.ts";
import { fleetSetKinds, longestSetName } from "../../../../api/fleet-set.ts";
import { plainText } from "../../../../api/foreign-text.ts";
import { exitCodes, UsageError } from "../../errors.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { listInstallations } from "../../hub/installations.ts";
import { listSelectedProfiles } from "../../hub/profiles.ts";
import { type Answer, refusal } from "../../main/report.ts";
import { checkWriteFormat, objectText } from "../../output/output-format.ts";
import type { Selection } from "../../selection/selection.ts";
import { allSetKinds } from "../../selection/set-ref.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import { adoptionSet } from "./adoption-set.ts";

/** A set for the selected components of one type. Throws UsageError, and the errors of KubeClient. */
export async function adoptComponents(fleet: Fleet, given: string | undefined): Promise<Answer> {
  const { flags, signal } = fleet;
  checkWriteFormat(flags);
  const name = nameOf(given);
  const [access, selection] = [await fleet.access(), await fleet.selection()];
  const kind = kindOf(selection);
  const { namespace } = selection;
  if (namespace === undefined) {
    throw new UsageError("A set takes over components of its own namespace", ["Name it with -n."]);
  }
  const components = await listInstallations(access, selection, signal);
  const next = ["kubectl knfleet status -A --no-live"];
  const type = fleetSetKinds[kind].component;
  if (components.length === 0) return refusal(`No ${type} found in namespace ${namespace}`, next);
  const profiles = await profilesOf(components, access, signal);
  const sorted = components.toSorted(byText(({ metadata }) => metadata.name));
  const adoption = adoptionSet(sorted, { kind, name, namespace, profiles });
  if (adoption.adopted === 0) {
    const why = `No ${type} of namespace ${namespace} can become part of a new set`;
    return refusal(why, next, adoption.leftOut);
  }
  const warnings = [
    ...adoption.problems.map((problem) => `${problem}: select fewer components`),
    ...adoption.leftOut.map((component) => `left out: ${component}`),
    ...(profiles === undefined
      ? ["ClusterProfiles could not be listed: those without a component are not excluded"]
      : []),
  ];
  return {
    text: await objectText(adoption.set, flags),
    notes: [
      ...warnings.map((warning) => plainText(`warning: ${warning}`)),
      "hint: Add spec.rollout.stages, and check the set with rollout plan -f before you apply it.",
    ],
    exitCode: warnings.length > 0 ? exitCodes.incomplete : exitCodes.fine,
  };
}

function nameOf(name = "fleet"): string {
  const isName = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/.test(name) && name.length <= longestSetName;
  if (isName) return name;
  throw new UsageError(
    `Invalid value "${name}" for --name: must be up to ${longestSetName} lower-case letters, digits and -`,
  );
}

/** The kind of set for the named type of component. Throws UsageError unless exactly one type is named. */
function kindOf({ kinds, names }: Selection) {
  const [component, ...more] = kinds;
  const kind = allSetKinds.find((one) => fleetSetKinds[one].component === component);
  if (kind !== undefined && more.length === 0 && names.length === 0) return kind;
  throw new UsageError("Name one type: ks for Knative Serving, ke for Knative Eventing", [
    "kubectl knfleet rollout adopt ks",
  ]);
}

/** The ClusterProfiles in the namespaces that components reference; undefined when the user may not list them. */
async function profilesOf(
  components: readonly Component[],
  access: ClusterAccess,
  signal: AbortSignal,
): Promise<readonly ClusterProfile[] | undefined> {
  const refs = components.flatMap(({ spec }) => spec?.clusterProfileRef ?? []);
  const namespaces = [...new Set(refs.map(({ namespace }) => namespace))];
  try {
    const lists = await Promise.all(
      namespaces.map((namespace) =>
        listSelectedProfiles(
          { access, flags: { namespace, cluster: undefined, on: undefined } },
          signal,
        ),
      ),
    );
    return lists.flat();
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return undefined;
    throw error;
  }
}
