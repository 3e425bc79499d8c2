import { ConnectionError } from "../../access/kube/api-error.ts";
import { abortable } from "../../access/time/deadline.ts";
import { recordAt, textAt } from "../../api/fields.ts";
import type { ControllerDeps } from "../../controller/controller-deps.ts";
import { type Answer, StatusError } from "../simulator/answers.ts";
import type { Network, Return, Sender } from "./network.ts";
import type { Users } from "./users.ts";

type CheckSource = ControllerDeps["checkSource"];

/** What a rollout wants to know: whether a cluster may keep a revision. */
interface Question {
  /** Kind and name of the set. */
  readonly set: string;
  readonly revision: string;
  readonly profile: string;
}

/** The server of somebody, outside of all clusters, that decides which clusters may keep a revision. */
export class Gate {
  readonly name = "gate";
  readonly #users: readonly Users[];
  readonly #note: (text: string) => void;
  /** By question: when it was last answered with yes, in ms of the simulation. */
  readonly #allowedAt = new Map<string, number>();

  constructor(users: readonly Users[], note: (text: string) => void) {
    this.#users = users;
    this.#note = note;
  }

  /** Whether it said yes since a time. */
  hasAllowed(question: Question, sinceMs: number): boolean {
    return (this.#allowedAt.get(keyOf(question)) ?? -Infinity) >= sinceMs;
  }

  /** The way of one replica to it. */
  source(network: Network, sender: Sender): CheckSource {
    return {
      ask: async ({ body }, signal) => {
        const answering = network.ask(sender, this, () => {
          return this.#answer(questionOf(body), network.time.nowMs);
        });
        return textOf(await abortable(answering, signal));
      },
    };
  }

  #answer(question: Question, nowMs: number): Answer {
    const users = this.#users.find(({ cluster }) => cluster.name === question.profile);
    if (users?.since("silence") !== undefined) {
      return new StatusError({ status: 503, reason: "ServiceUnavailable" }, "not now").answer;
    }
    const isUndecided = users?.since("doubt") !== undefined;
    const allowed = users?.since("denial") === undefined;
    if (allowed && !isUndecided) this.#allowedAt.set(keyOf(question), nowMs);
    this.#note(`the gate is asked about ${keyOf(question)}: ${isUndecided ? "no word" : allowed}`);
    return { status: 200, body: isUndecided ? {} : { allowed, message: "" } };
  }
}

function questionOf(body: unknown): Question {
  const question = recordAt(body);
  const set = recordAt(question, "set");
  return {
    set: `${textAt(set, "kind")} ${textAt(set, "name")}`,
    revision: textAt(question, "revision") ?? "",
    profile: textAt(recordAt(question, "cluster"), "name") ?? "",
  };
}

function keyOf({ set, revision, profile }: Question): string {
  return `${set} ${revision} ${profile}`;
}

/** Throws ConnectionError. */
function textOf(answer: Return): { readonly status: number; readonly text: string } {
  if (answer === "nothing") throw new ConnectionError("reset", "The gate: the connection broke");
  if (answer === "half") return { status: 200, text: "{" };
  return { status: answer.status, text: JSON.stringify(answer.body) };
}
