import { UsageError } from "../../usage-error.ts";
import type { Step } from "./jsonpath-nodes.ts";
import { parsePath } from "./parse-jsonpath.ts";

/** A path as `--sort-by` and custom columns take it: `name`, `.name`, `{.name}` and `{name}` are one. Throws UsageError. */
export function relaxedPath(text: string): readonly Step[] {
  const [, braced] = /^\{(.*)\}$/s.exec(text.trim()) ?? [];
  const path = (braced ?? text).trim();
  if (path === "") throw new UsageError(`Invalid JSONPath "${text}": there is no field`);
  return parsePath(path);
}
