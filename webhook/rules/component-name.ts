import { anchorNameOf } from "../../api/anchor.ts";
import type { Check } from "./rule.ts";

const maxName = 253;
// The name is the value of a label of the anchor.
const maxLabel = 63;

/** The anchor and its labels carry the name of the component. Security: T-60. */
export const componentName: Check = ({ kind, name }) => {
  const room = maxName - anchorNameOf({ kind, name: "" }).length;
  const path = "metadata.name";
  if (name.length > room) {
    const message = `must be at most ${room} characters (has ${name.length}), because the name of its anchor is ${anchorNameOf({ kind, name: "NAME" })}`;
    return [{ path, message }];
  }
  if (name.length > maxLabel) {
    const message = `must be at most ${maxLabel} characters (has ${name.length}), because it is the value of a label on what is installed`;
    return [{ path, message }];
  }
  return [];
};
