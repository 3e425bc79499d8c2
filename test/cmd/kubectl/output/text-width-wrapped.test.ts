import { expect, test } from "vitest";

import { widthOf } from "../../../../cmd/kubectl/output/characters.ts";
import { fitTable, renderTable } from "../../../../cmd/kubectl/output/table.ts";
import { wrappedStep, wrapText } from "../../../../cmd/kubectl/output/text-width.ts";

const message = "The connection to https://spoke.example.com:6443 was refused by a firewall";

test("a text is divided between words, keeps its indentation, and loses nothing", () => {
  const lines = wrapText(`  cause: ${message}`, 40, 4);
  expect(lines).toEqual([
    "  cause: The connection to",
    "    https://spoke.example.com:6443 was",
    "    refused by a firewall",
  ]);
  expect(lines.map((line) => line.trim()).join(" ")).toBe(`cause: ${message}`);
  expect(wrapText("a-word-that-is-longer-than-the-line b", 10)).toEqual([
    "a-word-that-is-longer-than-the-line",
    "b",
  ]);
});

test("nothing is divided in a pipe", () => {
  expect(widthOf({ columns: 80 })).toBeUndefined();
  expect(widthOf({ isTTY: true, columns: 80 })).toBe(80);
  expect(wrapText(message, undefined)).toEqual([message]);
});

test("a command stays one line, and a sentence does not", () => {
  const command = "  1. kubectl knfleet connect fleet/eu-1 -- kubectl get pods -n team-a";
  expect(wrappedStep(command, 40)).toEqual([command]);
  expect(wrappedStep("  1. Renew the credential that the provider hands out.", 40)).toEqual([
    "  1. Renew the credential that the",
    "     provider hands out.",
  ]);
});

const table = (name: string) => ({
  headers: ["STATE", "OF", "MESSAGE"],
  wraps: true,
  rows: [["FAIL", name, message]],
});

function paint(text: string): string {
  return text;
}

function shown(name: string, width: number): readonly string[] {
  return renderTable(fitTable(table(name), width), { headers: true, paint })
    .trimEnd()
    .split("\n");
}

test("a message stands in several lines of its column", () => {
  const lines = shown("eu-1", 60);
  expect(lines[0]).toBe("STATE   OF     MESSAGE");
  expect(lines[2]?.startsWith(" ".repeat("FAIL    eu-1   ".length))).toBe(true);
  expect(lines.every((line) => line.length <= 60)).toBe(true);
  expect(lines.join(" ").replaceAll(/ +/g, " ")).toContain(message);
});

test("a message without room beside the other columns stands below its row", () => {
  const lines = shown("KnativeServing a-very-long-namespace/knative-serving", 80);
  expect(lines.slice(0, 2)).toEqual([
    "STATE   OF",
    "FAIL    KnativeServing a-very-long-namespace/knative-serving",
  ]);
  expect(lines.slice(2)).toEqual([`    ${message}`]);
});
