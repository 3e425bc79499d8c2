import { expect, test } from "vitest";

import { WriteRefusedError } from "../../access/http/write-permit.ts";
import { ApiError, ConnectionError } from "../../access/kube/api-error.ts";
import { logFailure } from "../../access/log.ts";
import { FleetError } from "../../api/errors.ts";
import { keptLines } from "../support/kept-lines.ts";

const answer = { status: 503, reason: "", message: "", causes: [], isStatus: true, request: "GET" };

test.each([
  { name: "an answer of a server", err: new ApiError(answer), line: "debug: Could not do it" },
  { name: "no answer", err: new ConnectionError("reset", "x"), line: "debug: Could not do it" },
  {
    name: "a failure that a user can meet",
    err: new FleetError("ConfigInvalid", "x"),
    line: "debug: Could not do it",
  },
  {
    name: "the end of a time limit",
    err: new DOMException("x", "TimeoutError"),
    line: "debug: Could not do it",
  },
  { name: "a lost Lease", err: new WriteRefusedError(), line: "debug: Could not do it" },
  { name: "a bug", err: new TypeError("x is undefined"), line: "error: Internal error" },
])("$name is logged as $line", ({ err, line }) => {
  const { log, lines } = keptLines();
  logFailure(log, "debug", { err }, "Could not do it");
  expect(lines).toEqual([line]);
});
