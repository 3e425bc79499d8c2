import type { ActionInput } from "../action.ts";
import {
  componentCheck,
  type ComponentDocument,
  componentDocuments,
} from "./component-documents.ts";
import { namedNamespace } from "./hub-namespace.ts";
import { readInputText } from "./input-files.ts";
import { InputError, yamlDocuments } from "./yaml-documents.ts";

/** Components of several files, and notes about them. */
export interface Components {
  readonly components: readonly ComponentDocument[];
  readonly notes: readonly string[];
}

/**
 * Reads and checks the components of files; `-` is standard input. `usual` is the namespace of those that name none, when the command line names none
 * either. Throws InputError with the problems of all files.
 */
export function componentReader(
  { flags, terminal }: Pick<ActionInput<unknown>, "flags" | "terminal">,
  signal: AbortSignal,
  usual?: string,
): (paths: readonly string[], flag: string) => Promise<Components> {
  const check = componentCheck();
  const rules = { namespace: namedNamespace(flags), usual, check };
  const readOne = async (path: string, flag: string) => {
    const isStdin = path === "-";
    const stream = isStdin ? { stream: terminal.stdin } : {};
    const text = await readInputText({ path, flag, ...stream }, signal);
    return componentDocuments(yamlDocuments(text, isStdin ? "standard input" : path), rules);
  };
  return async (paths, flag) => {
    const read = await Promise.allSettled(paths.map((path) => readOne(path, flag)));
    const problems = read.flatMap((one) => {
      if (one.status === "fulfilled") return [];
      if (one.reason instanceof InputError) return one.reason.problems;
      throw one.reason;
    });
    if (problems.length > 0) throw new InputError(problems);
    const found = read.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    const components = found.flatMap((one) => one.components);
    if (components.length === 0) {
      throw new InputError([
        `${flag} ${paths.join(" ")}: holds no KnativeServing or KnativeEventing`,
      ]);
    }
    return { components, notes: found.flatMap(({ notes }) => notes) };
  };
}
