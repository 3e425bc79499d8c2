import type { ApiError } from "../../access/kube/api-error.ts";
import { foreignText, redactSecrets } from "../../api/foreign-text.ts";
import { nameFirst } from "../../api/kubernetes.ts";
import { notTakenSentence, type OwnWrite, writeRefused } from "../../api/reasons.ts";
import type { Obstacle } from "../../sets/facts.ts";
import type { NewEvent } from "../events.ts";
import { isRefusal, type NotTaken } from "./send-writes.ts";

/** The hub refused what a set writes for itself, not for a cluster. */
export class OwnWriteRefusedError extends Error {
  override readonly name = "OwnWriteRefusedError";
  readonly what: OwnWrite;
  readonly refusal: ApiError;

  constructor(what: OwnWrite, refusal: ApiError) {
    super(notTakenSentence(what), { cause: refusal });
    this.what = what;
    this.refusal = refusal;
  }
}

/** The answer to an own write of a set. Throws as the client does, and OwnWriteRefusedError when the hub refuses it. */
export async function ownWrite<Answer>(what: OwnWrite, answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    throw isRefusal(error) ? new OwnWriteRefusedError(what, error) : error;
  }
}

/** The refusal with the hub's words. */
export function obstacleOf({ message, refusal }: OwnWriteRefusedError): Obstacle {
  return { reason: writeRefused, message: `${message}: ${hubWords(refusal.message)}` };
}

/** The Events for components that the hub did not take: one for all clusters with the same words. Fields that others hold are no refusal. */
export function notTakenEvents({ refused, failed }: NotTaken): readonly NewEvent[] {
  const words = [
    ...[...refused].flatMap(([cluster, { reason, message }]) =>
      reason === "Refused" ? [[cluster, hubWords(message)] as const] : [],
    ),
    ...failed,
  ];
  const clusters = Map.groupBy(words, ([, text]) => text);
  return [...clusters].map(([text, entries]) => {
    const named = nameFirst(
      entries.map(([cluster]) => cluster),
      3,
    );
    const message = `The hub does not take the component for ${named}: ${text}`;
    return { type: "Warning", reason: writeRefused, message };
  });
}

function hubWords(text: string): string {
  return redactSecrets(foreignText(text));
}
