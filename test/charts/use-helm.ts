import { afterAll, beforeAll } from "vitest";

import { Helm } from "./helm.ts";

/** One Helm without a cluster for all tests of a file. Returns a function that gives it inside of tests and hooks. */
export function useHelm(): () => Helm {
  let helm: Helm | undefined;
  // Generous, because it may have to be built.
  beforeAll(async () => {
    helm = await Helm.open();
  }, 600_000);
  afterAll(async () => helm?.[Symbol.asyncDispose]());
  return () => {
    if (helm === undefined) throw new Error("Helm exists only in tests and hooks");
    return helm;
  };
}
