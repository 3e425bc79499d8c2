import { words } from "../../../commands.ts";
import { mapLimited } from "../../../concurrency.ts";
import { grantedRules, isAllowed, type Right } from "../../can-i/access-review.ts";
import type { SpokeSession } from "../spoke-session.ts";
import { finding, passed, passedWith, type HopResult } from "./hop.ts";
import { spokeRights, type SpokeRight } from "./spoke-rights.ts";

const asked = 24;
const shown = 12;

/**
 * Whether the identity has the rights that the controller needs. One request tells the rules; what they do not hold is asked one by one,
 * because the rules of other authorizers than RBAC are not told.
 */
export async function checkRights(
  { client, user }: SpokeSession,
  signal: AbortSignal,
): Promise<HopResult<true>> {
  const rights = spokeRights.flatMap(rightsOf);
  const { isGranted } = await grantedRules(client, signal);
  const doubtful = rights.filter((right) => !isGranted(right));
  // Enough to be sure; of the rest the rules are believed.
  const answers = await mapLimited(doubtful.slice(0, asked), 4, (right) =>
    isAllowed(right, client, signal),
  );
  const isBelieved = answers.includes(false);
  const missing = doubtful.filter((_, at) => answers[at] === false || (at >= asked && isBelieved));
  if (missing.length === 0) return passed(true, `${rights.length} rights are there`);
  const texts = textsOf(missing);
  const who = user?.username ?? "the identity";
  const message = `Missing is ${texts[0] ?? ""}${texts.length > 1 ? `, and ${texts.length - 1} more` : ""}`;
  const next = [
    "On that cluster, as its administrator: kubectl apply -f docs/spoke-role.yaml",
    `Then bind it there: kubectl create clusterrolebinding knfleet-hub --clusterrole=knfleet-spoke ${words(subjectOf(who))}`,
  ];
  const evidence = [`as ${who}`, ...texts.slice(0, shown)];
  return passedWith(true, message, {
    findings: [finding("error", "KNF5002", { message, evidence, next })],
  });
}

function rightsOf({ group, resources, verbs }: SpokeRight): readonly Right[] {
  return resources.flatMap((resource) => verbs.map((verb) => ({ group, resource, verb })));
}

/** `the verbs create, patch on namespaces`: one text for each resource. */
function textsOf(missing: readonly Right[]): readonly string[] {
  const byResource = Map.groupBy(missing, ({ group, resource }) =>
    group === "" ? resource : `${resource}.${group}`,
  );
  return [...byResource].map(([resource, rights]) => {
    const verbs = rights.map(({ verb }) => verb).join(", ");
    return `the verb${rights.length === 1 ? "" : "s"} ${verbs} on ${resource}`;
  });
}

function subjectOf(user: string): string {
  const [, account] = /^system:serviceaccount:([^:]+:[^:]+)$/.exec(user) ?? [];
  return account === undefined ? `--user=${user}` : `--serviceaccount=${account}`;
}
