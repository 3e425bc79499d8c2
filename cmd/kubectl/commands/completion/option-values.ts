import { outputFormats } from "../../output/output-format.ts";

/** What completion offers for the value of a flag; a flag that is not here takes a file or anything. */
export const optionValues: Readonly<
  Record<
    string,
    | readonly string[]
    | "installations"
    | "clusters"
    | "namespaces"
    | "contexts"
    | "reasons"
    | undefined
  >
> = {
  "--output": outputFormats.map((format) =>
    /^(?:jsonpath|custom)/.test(format) ? `${format}=` : format,
  ),
  "--color": ["auto", "always", "never"],
  "--fail-on": ["error", "warning", "never"],
  "--from": ["local", "controller-identity", "controller"],
  "--for": ["ready", "resolved", "deleted", "version="],
  "--cluster": "clusters",
  "--between": "clusters",
  "--namespace": "namespaces",
  "--context": "contexts",
  "--reason": "reasons",
};
