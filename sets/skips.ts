import { type FleetSet, steering } from "../api/fleet-set.ts";
import { foreignText } from "../api/foreign-text.ts";

type Annotations = Readonly<Record<string, string>>;

/** The names after the revision in an annotation `REVISION NAME NAME …`; none for another revision. */
function namesFor(value: string | undefined, revision: string): readonly string[] {
  const [named, ...names] = (value ?? "").split(" ").filter((word) => word !== "");
  return named === revision ? names : [];
}

/** The names of the clusters and stages that a rollout of a revision leaves out, by what they are names of. */
export function skippedNames(
  { metadata: { annotations = {} } }: Pick<FleetSet, "metadata">,
  revision: string,
): Readonly<Record<"cluster" | "stage", readonly string[]>> {
  return {
    cluster: namesFor(annotations[steering.skipClusters], revision),
    stage: namesFor(annotations[steering.skipStages], revision),
  };
}

/** Whether a rollout of a revision leaves a stage out. */
export function isSkippedStage(annotations: Annotations, revision: string, stage: string): boolean {
  return namesFor(annotations[steering.skipStages], revision).includes(stage);
}

/** Why a rollout of a revision leaves a cluster (`namespace/name`) out, as a sentence; undefined when it does not. */
export function skipOf(
  { metadata }: Pick<FleetSet, "metadata">,
  revision: string,
  { key, stage }: { readonly key: string; readonly stage: string },
): string | undefined {
  const { annotations = {} } = metadata;
  if (namesFor(annotations[steering.skipClusters], revision).includes(key)) {
    return "Skipped in this revision (rollout skip)";
  }
  if (!isSkippedStage(annotations, revision, stage)) return undefined;
  return `Stage ${stage} is skipped in this revision (rollout skip)`;
}

/** Why a user ended the rollout of a revision, in the words of that user. Undefined when none did. */
export function abortReasonOf(
  { metadata }: Pick<FleetSet, "metadata">,
  revision: string,
): string | undefined {
  const [named, ...reason] = (metadata.annotations?.[steering.abort] ?? "").split(" ");
  return named === revision ? foreignText(reason.join(" ")) : undefined;
}

/** Why somebody ended the rollout of a revision, as a sentence; undefined when nobody has. */
export function abortOf(set: Pick<FleetSet, "metadata">, revision: string): string | undefined {
  const reason = abortReasonOf(set, revision);
  if (reason === undefined) return undefined;
  return reason === "" ? "The rollout was aborted" : `The rollout was aborted: ${reason}`;
}
