import { isAlias, LineCounter, parseDocument, visit } from "yaml";

import { FleetError } from "../../api/errors.ts";
import { isRecord } from "../../api/fields.ts";
import { fileText } from "../followed-file.ts";
import { costProblem } from "./provider-document.ts";
import type { ReferenceGrant } from "./reference-policy.ts";

const what = "The file of reference grants";
const keys: readonly string[] = ["fromNamespace", "toNamespace", "names"];

/** What is wrong with the content, as the end of a sentence; never quotes it. */
class ContentError extends Error {}

/**
 * Loads a file of grants, YAML or JSON: a record with the key `grants`, which is a list. Strict, because a key that is not understood
 * could have been meant to permit less. Throws `FleetError` `ConfigInvalid`; the message names the path and the place.
 */
export async function loadReferenceGrants(
  path: string,
  signal: AbortSignal,
): Promise<readonly ReferenceGrant[]> {
  const content = await fileText({ what, path }, signal);
  try {
    return grantsIn(content);
  } catch (error) {
    if (!(error instanceof ContentError)) throw error;
    throw new FleetError("ConfigInvalid", `${what} ${path} cannot be used: ${error.message}`);
  }
}

function grantsIn(content: string): readonly ReferenceGrant[] {
  const file = valueOf(content);
  if (!isRecord(file)) throw new ContentError("it is no record with the key grants");
  refuseOthers(file, ["grants"], "the file");
  const { grants } = file;
  if (!Array.isArray(grants)) throw new ContentError("grants is no list");
  return grants.map((grant, index) => grantOf(grant, `grants[${index}]`));
}

function valueOf(content: string): unknown {
  const cost = costProblem(content, "yaml");
  if (cost !== undefined) throw new ContentError(cost);
  const lineCounter = new LineCounter();
  const document = parseDocument(content, { lineCounter, logLevel: "error", merge: false });
  const [problem] = document.errors;
  if (problem !== undefined) {
    const { line, col } = lineCounter.linePos(problem.pos[0]);
    throw new ContentError(`it is not YAML at line ${line}, column ${col} (${problem.code})`);
  }
  visit(document, (_key, node) => {
    if (isAlias(node)) throw new ContentError("it holds an alias");
  });
  return document.toJS();
}

function grantOf(grant: unknown, path: string): ReferenceGrant {
  if (!isRecord(grant)) throw new ContentError(`${path} is no record`);
  refuseOthers(grant, keys, path);
  const { fromNamespace, toNamespace, names } = grant;
  const places = {
    fromNamespace: nameAt(fromNamespace, `${path}.fromNamespace`),
    toNamespace: nameAt(toNamespace, `${path}.toNamespace`),
  };
  if (!Object.hasOwn(grant, "names")) return places;
  if (!Array.isArray(names) || names.length === 0) {
    throw new ContentError(`${path}.names is no list of names; without it all are meant`);
  }
  return { ...places, names: names.map((name, at) => nameAt(name, `${path}.names[${at}]`)) };
}

/** Length before pattern. No pattern is taken for a name: what is written is what is permitted. */
function nameAt(value: unknown, path: string): string {
  const isName =
    typeof value === "string" &&
    value.length <= 253 &&
    /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/.test(value);
  if (!isName) throw new ContentError(`${path} is no name`);
  return value;
}

function refuseOthers(
  record: Readonly<Record<string, unknown>>,
  known: readonly string[],
  path: string,
): void {
  const isUnknown = Object.keys(record).some((key) => !known.includes(key));
  if (isUnknown) throw new ContentError(`${path} has a key other than ${known.join(", ")}`);
}
