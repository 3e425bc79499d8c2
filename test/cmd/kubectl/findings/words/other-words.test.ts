import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { isRecord } from "../../../../../api/fields.ts";
import { explain } from "../../../../../cmd/kubectl/findings/words/explain.ts";
import { otherWords } from "../../../../../cmd/kubectl/findings/words/other-words.ts";

const project = join(import.meta.dirname, "../../../../..");
const read = (path: string): string => readFileSync(join(project, path), "utf8");

/** Paths of all files below a folder of the project. */
function filesIn(folder: string, end: string): readonly string[] {
  const names = readdirSync(join(project, folder), { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.endsWith(end)).map((name) => join(folder, name));
}

/** The words without an explanation, each with a place. */
function unknownOf(words: readonly (readonly [word: string, place: string])[]): readonly string[] {
  const places = new Map(words);
  return [...places]
    .filter(([word]) => explain(word).length === 0)
    .map(([word, place]) => `${word} in ${place}`);
}

test("the meanings are those of docs/reasons.md, word for word", () => {
  const [, section = ""] = read("docs/reasons.md").split("\n## Other words\n");
  const rows = section
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  const wanted = Object.entries(otherWords).flatMap(([what, words]) =>
    Object.entries(words).map(([word, texts]) => [`\`${word}\``, what, ...texts]),
  );
  expect(rows).toEqual(wanted);
});

/** Fields of documents whose values are words. */
const wordFields = ["state", "reason", "phase", "code", "finding", "change", "outcome", "action"];

describe("every word can be explained", () => {
  test("that the schemas of the documents know", () => {
    const words = filesIn("docs/schemas/v1", ".json").flatMap((path) =>
      enumsOf(JSON.parse(read(path))).map((word) => [word, path] as const),
    );
    expect(words.length).toBeGreaterThan(60);
    expect(unknownOf(words)).toEqual([]);
  });

  test("that stands in a document of the golden files", () => {
    const words = filesIn("test/golden", ".json.txt").flatMap((path) => {
      const [document = ""] = read(path).split("--- stderr");
      return valuesOf(JSON.parse(document)).map((word) => [word, path] as const);
    });
    expect(words.length).toBeGreaterThan(500);
    expect(unknownOf(words)).toEqual([]);
  });

  test("that stands in a table of the golden files, and every number anywhere in them", () => {
    const paths = filesIn("test/golden", ".txt");
    const cells = paths.flatMap((path) => cellsOf(read(path)).map((word) => [word, path] as const));
    const numbers = paths.flatMap((path) =>
      Array.from(read(path).matchAll(/\bKNF\d{4}\b/g), ([word]) => [word, path] as const),
    );
    expect(cells.length).toBeGreaterThan(300);
    expect(unknownOf([...cells, ...numbers])).toEqual([]);
  });

  test("that the source writes as a reason or as a state", () => {
    const written = [
      /(?:\b(?:reason|state|finding): |\b(?:normal|warning|leave|own)\()\s*"([A-Z]\w+)"/g,
      /\breason = [^"\n]*"([A-Z]\w+)"/g,
      /\breason = [^"\n]*"[A-Z]\w+" : "([A-Z]\w+)"/g,
    ];
    const folders = ["api", "access", "cmd", "controller", "installation", "sets", "webhook"];
    const words = folders.flatMap((folder) =>
      filesIn(folder, ".ts").flatMap((path) =>
        written.flatMap((pattern) =>
          Array.from(read(path).matchAll(pattern), ([, word = ""]) => [word, path] as const),
        ),
      ),
    );
    expect(words.length).toBeGreaterThan(200);
    expect(unknownOf(words)).toEqual([]);
  });
});

describe("every reason of Kubernetes can be explained", () => {
  test("that the cause of a pod names", () => {
    const path = "installation/pod-cause.ts";
    const named = Array.from(
      read(path).matchAll(/["(]((?:OOM|[A-Z][a-z]+)(?:[A-Z][a-z]+)+|Unschedulable)\b/g),
      ([, word = ""]) => [word, path] as const,
    );
    expect(named.length).toBeGreaterThan(15);
    expect(unknownOf(named)).toEqual([]);
  });

  test("that an object of a recorded fleet has", () => {
    const paths = filesIn("test/fixtures/recorded-fleets", ".json");
    const kinds = /[/](?:events|pods|deployments\.apps|statefulsets\.apps|jobs\.batch)\.json$/;
    const words = paths
      .filter((path) => kinds.test(path))
      .flatMap((path) =>
        Array.from(
          read(path).matchAll(/"reason": "(\w+)"/g),
          ([, word = ""]) => [word, path] as const,
        ),
      );
    expect(words.length).toBeGreaterThan(50);
    expect(unknownOf(words)).toEqual([]);
  });

  test.each(
    [
      "ErrImagePull ImagePullBackOff CrashLoopBackOff OOMKilled CreateContainerConfigError",
      "RunContainerError Evicted DeadlineExceeded BackoffLimitExceeded BackOff Unhealthy Failed",
      "FailedMount FailedAttachVolume FailedScheduling FailedCreate FailedCreatePodSandBox Killing",
      "Preempted TaintManagerEviction NodeNotReady FailedGetResourceMetric ProvisioningFailed",
    ].flatMap((words) => words.split(" ")),
  )("%s, with what to do", (word) => {
    expect(explain(word)).toContainEqual(
      expect.objectContaining({
        meaning: expect.stringMatching(/./),
        next: expect.stringMatching(/./),
      }),
    );
  });
});

/** The values of enums of the fields that have words. */
function enumsOf(schema: unknown, field = ""): readonly string[] {
  if (Array.isArray(schema)) return schema.flatMap((one: unknown) => enumsOf(one, field));
  if (!isRecord(schema)) return [];
  const { enum: values } = schema;
  const own = Array.isArray(values) && wordFields.includes(field) ? values : [];
  const below = Object.entries(schema).flatMap(([name, one]) => {
    if (name !== "properties" || !isRecord(one)) return enumsOf(one, field);
    return Object.entries(one).flatMap(([key, part]) => enumsOf(part, key));
  });
  return [...own.filter((value) => typeof value === "string"), ...below];
}

/** The values of the fields that have words, and the types of conditions. */
function valuesOf(document: unknown, isCondition = false): readonly string[] {
  if (Array.isArray(document)) {
    return document.flatMap((one: unknown) => valuesOf(one, isCondition));
  }
  if (!isRecord(document)) return [];
  // An object of a cluster has words of others, the record of a rollout the reasons of people.
  const foreign = ["object", "record"];
  const entries = Object.entries(document).filter(([name]) => !foreign.includes(name));
  const names = isCondition ? [...wordFields, "type"] : wordFields;
  return entries.flatMap(([name, value]) => {
    if (typeof value !== "string") return valuesOf(value, name === "conditions");
    return names.includes(name) ? [value] : [];
  });
}

const wordColumns = ["HUB", "LIVE", "REASON", "STATE", "RESULT", "CODE", "FINDING", "CHANGE"];

/** The words in the cells of tables in a text. */
function cellsOf(text: string): readonly string[] {
  const words: string[] = [];
  let columns: readonly (readonly [from: number, to: number | undefined])[] = [];
  for (const line of text.split("\n")) {
    const headers = Array.from(line.matchAll(/\S+(?: \S+)*/g));
    if (headers.length > 2 && headers.every(([name]) => /^[A-Z ]+$/.test(name))) {
      // The record of a rollout has the reasons of people.
      const hasPeople = headers.some(([name]) => name === "USER");
      columns = headers.flatMap(({ 0: name, index }, at) =>
        !hasPeople && wordColumns.includes(name) ? [[index, headers[at + 1]?.index] as const] : [],
      );
    } else if (line === "" || line.startsWith("---")) {
      columns = [];
    } else {
      // In a narrow terminal a row may be divided at other places than its headers.
      const isGap = (at = line.length): boolean =>
        line.slice(Math.max(0, at - 2), at).trim() === "";
      const whole = columns.filter(([from, to]) => isGap(from) && (to === undefined || isGap(to)));
      const cells = whole.map(([from, to]) => line.slice(from, to).trim());
      words.push(...cells.filter((cell) => /^[A-Za-z][A-Za-z0-9]+$/.test(cell)));
    }
  }
  return words;
}
