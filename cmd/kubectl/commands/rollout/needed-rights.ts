import type { FleetSet } from "../../../../api/fleet-set.ts";
import { rightsToLoosen } from "../../../../webhook/rules/sets/set-gates.ts";
import { rightsForSpec } from "../../../../webhook/rules/sets/set-rights.ts";
import { changedParts, type SetChange } from "../../../../webhook/rules/sets/set-rule.ts";
import { rightsToRunJobs, rightsToUseSecrets } from "../../../../webhook/rules/sets/set-verify.ts";

/**
 * The rights that the webhook asks the author of a spec for, each as the end of a sentence. The command cannot know whether the webhook runs with `--manifest-right`; the right that
 * it is about says so.
 */
export async function rightsToApply(
  { kind, metadata, spec }: FleetSet,
  stored: FleetSet | undefined,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { namespace, name } = metadata;
  const annotations = metadata.annotations ?? {};
  const change: SetChange = {
    kind,
    namespace,
    name,
    username: "",
    annotations,
    oldAnnotations: annotations,
    spec: { ...spec },
    before: stored && { ...stored.spec },
  };
  const subject = { ...change, spec, changed: changedParts(change) };
  const rights = [
    ...(await rightsForSpec(subject, { manifestRight: true }, signal)),
    ...rightsToLoosen(change),
    ...rightsToUseSecrets(subject),
    ...rightsToRunJobs(subject),
  ];
  const sentences = rights.map(({ path, attempt, deed }) => {
    const condition = attempt.verb === "apply-cluster-scoped" ? ", with --manifest-right" : "";
    return `${deed} (${path}${condition})`;
  });
  return [...new Set(sentences)];
}
