import { tmpdir } from "node:os";
import { join } from "node:path";

/** Lets a program that is started from its sources find them compiled, without types, by one that was started before: a second of computing less each time. */
export const compileCache = {
  NODE_COMPILE_CACHE: join(tmpdir(), "knfleet-compile-cache"),
} as const;
