import { expect, test } from "vitest";

import { pointerOf, tokensOf } from "../../api/json-pointer.ts";

test.each([
  { tokens: [], pointer: "" },
  {
    tokens: ["metadata", "annotations", "knfleet.dev/a"],
    pointer: "/metadata/annotations/knfleet.dev~1a",
  },
  // The name of a token that looks escaped.
  { tokens: ["a~1b", ""], pointer: "/a~01b/" },
])("$tokens is $pointer, both ways (RFC 6901)", ({ tokens, pointer }) => {
  expect(pointerOf(...tokens)).toBe(pointer);
  expect(tokensOf(pointer)).toEqual(tokens);
});
