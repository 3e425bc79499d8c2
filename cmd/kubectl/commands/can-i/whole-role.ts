import { namedReleases } from "../../compare/named-releases.ts";
import { yamlOfObject } from "../../compare/objects-text.ts";
import { UsageError } from "../../errors.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import type { Answer } from "../../main/report.ts";
import { renderJson } from "../../output/output-format.ts";
import { clusterRoleOf, loadEverything, spokeRoleName } from "../../rights/needs.ts";
import { allWanted, permissionsFor } from "../../rights/permissions.ts";
import { readNames } from "../../selection/selection.ts";

/** The ClusterRole for everything that a version, or one kind of it, can install. Throws UsageError, and FleetError without release files. */
export async function wholeRole(fleet: Fleet, version: string | undefined): Promise<Answer> {
  const { args, flags } = fleet;
  const { kinds, names } = readNames(args);
  if (names.length > 0) {
    throw new UsageError(`--role is about versions, not about ${args.join(" ")}`, [
      "kubectl knfleet can-i --role",
      "For what one cluster lacks, leave --role out and give -o clusterrole.",
    ]);
  }
  const format = flags.outputGiven ? flags.output : "yaml";
  if (format !== "yaml" && format !== "json" && format !== "clusterrole") {
    throw new UsageError(`Invalid value "${format}" for --output: want yaml, json`);
  }
  const releases = await namedReleases(fleet.asInput({}), fleet.signal)();
  const of = { releases, ...(version === undefined ? {} : { version }) };
  const needs = await Promise.all(kinds.map((kind) => loadEverything(kind, of)));
  const role = clusterRoleOf(spokeRoleName, permissionsFor(allWanted(needs)));
  const what = kinds.map((kind, at) => `${kind} ${needs[at]?.version ?? ""}`).join(" and ");
  const heading = `# What knfleet needs on a spoke for ${what}. Bind it cluster-wide to the identity that the hub uses there.\n`;
  const lacking = needs.flatMap((one) => one.lacking).join(", ");
  return {
    text: format === "json" ? renderJson(role) : `${heading}${yamlOfObject(role)}`,
    notes:
      lacking === ""
        ? []
        : [`The release folder lacks ${lacking}: the role has no rights for them.`],
  };
}
