import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import { compileCache } from "./compile-cache.ts";

const dockerfile = resolve(import.meta.dirname, "../../Dockerfile");

/** The stage of the Dockerfile that becomes the image. */
export function lastStage(): string {
  const text = readFileSync(dockerfile, "utf8");
  return text.slice(text.lastIndexOf("\nFROM "));
}

/** What the image sets for its programs, so that they are tried and measured as they run in it. */
export function imageEnvironment(): Readonly<Record<string, string>> {
  const text = lastStage().replaceAll(/\\\n\s*/g, "");
  const lines = [...text.matchAll(/^ENV (.+)$/gm)].map(([, words = ""]) => words);
  const words = lines.flatMap((line) => line.trim().split(/ +/));
  return Object.fromEntries(
    words.map((word) => {
      const [, name = "", value = ""] = /^(\w+)=(\S*)$/.exec(word) ?? [];
      if (name === "") throw new Error(`The Dockerfile sets something in another way: ${word}`);
      return [name, value];
    }),
  );
}

/** What the image gives its Node before the program. */
export function imageArguments(): readonly string[] {
  const [, entry = "[]"] = /^ENTRYPOINT (\[.*\])$/m.exec(lastStage()) ?? [];
  const words: unknown = JSON.parse(entry);
  if (!Array.isArray(words) || words.length < 2)
    throw new Error("The Dockerfile has no ENTRYPOINT");
  return words.slice(1).map(String);
}

/** What a program of a test is started with. That of the test runner stays out: its KUBECONFIG is somebody's real cluster. */
export function programEnvironment(): Readonly<Record<string, string>> {
  return {
    PATH: process.env["PATH"] ?? "",
    HOME: "/nonexistent",
    ...imageEnvironment(),
    // Also keeps the sources stripped of types, as the build does: 25 MB less.
    ...compileCache,
  };
}
