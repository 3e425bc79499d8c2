import type { ChildProcess } from "node:child_process";

import { type Ran, runKnfleet } from "../../run-knfleet.ts";

/** What a person does by hand when the command says so, in this order. */
export type Moments = readonly (readonly [
  said: string,
  work: (child: ChildProcess) => Promise<void>,
])[];

/** Runs `kubectl knfleet migrate` with arguments. Rejects when the work of a moment fails. */
export function runMigrate(
  args: readonly string[],
  { env, moments }: { readonly env: Readonly<Record<string, string>>; readonly moments: Moments },
): Promise<Ran> {
  const during = (child: ChildProcess): Promise<void> => keepCompany(child, moments);
  // A migration waits until all Deployments are as they were.
  return runKnfleet(["migrate", ...args], { env, during, timeoutMs: 240_000 });
}

async function keepCompany(child: ChildProcess, moments: Moments): Promise<void> {
  const left = [...moments];
  const works: Promise<void>[] = [];
  let text = "";
  child.stdout?.on("data", (part: Buffer) => {
    text += part.toString("utf8");
    const [next] = left;
    if (next === undefined || !text.includes(next[0])) return;
    left.shift();
    works.push(next[1](child));
  });
  await new Promise((resolve) => child.once("close", resolve));
  await Promise.all(works);
}
