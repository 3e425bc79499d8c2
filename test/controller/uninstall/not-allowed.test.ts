import { expect, test } from "vitest";

import { notAllowed } from "../../../controller/uninstall/not-allowed.ts";
import { apiError } from "../../support/api-error.ts";

const doing = "Removing the guard of the anchor";
const sentence = `${doing} is not allowed on the target cluster`;

test.each([
  [
    'namespaces "a" is forbidden: User "u" cannot patch resource "namespaces" in API group "" in the namespace "a"',
    `[Forbidden] ${sentence}`,
  ],
  [
    'admission webhook "w.x" denied the request: no',
    `[AdmissionRefused] ${sentence}: the admission webhook w.x denies it`,
  ],
  ["no", sentence],
])("a removal that is refused says who refuses: %s", (text, message) => {
  const error = notAllowed(doing, apiError(403, "Forbidden", text));
  expect(error).toMatchObject({ reason: "ApplyFailed", message });
});
