import { readFileSync } from "node:fs";
import { resolve } from "node:path";

const dockerfile = resolve(import.meta.dirname, "../../Dockerfile");

/** What the image sets for its programs, so that they are tried and measured as they run in it. */
export function imageEnvironment(): Readonly<Record<string, string>> {
  const text = readFileSync(dockerfile, "utf8").replaceAll(/\\\n\s*/g, "");
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
