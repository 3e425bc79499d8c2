import { anchorNameOf } from "../../installation/anchor.ts";
import type { Check } from "./rule.ts";

const maxName = 253;

/** The name of the anchor holds the name of the component. Security: T-60. */
export const componentName: Check = ({ kind, name }) => {
  const room = maxName - anchorNameOf({ kind, name: "" }).length;
  if (name.length <= room) return [];
  const message = `must be at most ${room} characters (has ${name.length}), because the name of its anchor is ${anchorNameOf({ kind, name: "NAME" })}`;
  return [{ path: "metadata.name", message }];
};
