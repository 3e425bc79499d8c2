import { describe, expect, test } from "vitest";

import {
  conditionSays,
  denials,
  hasSentence,
  letsGo,
  namespaceGoes,
  ofHub,
  selectionShrank,
  silences,
  stillUsed,
} from "../../api/sentences.ts";

describe("a sentence", () => {
  test("has words in its gaps, and gives them back", () => {
    const text = selectionShrank.of("knfleet.dev/accept", "0af3");
    expect(text).toMatch(/until the annotation knfleet\.dev\/accept is 0af3$/);
    expect(selectionShrank.wordsIn(text)).toEqual(["knfleet.dev/accept", "0af3"]);
  });

  test.each([
    ["at the end of a word", `${silences.waiting.of("a.b.c")}, 1 refused`, ["a.b.c"]],
    ["before a colon", silences.waiting.of("a.b: no"), ["a.b"]],
    ["nowhere", "Waiting for webhooks", undefined],
    ["not within a word", "awaitsWaiting for webhook a", undefined],
  ])("ends %s", (_, text, words) => {
    expect(silences.waiting.wordsIn(text)).toEqual(words);
  });

  test.each([
    ["the beginning", stillUsed, "Still used by 2 Broker", true],
    ["the beginning, behind a code", ofHub, "[Forbidden] The hub: no", true],
    ["the middle", stillUsed, "x: Still used by 2 Broker", false],
    [
      "the middle, where it may",
      denials.policy,
      "x: the ValidatingAdmissionPolicy p denies it: y",
      true,
    ],
    ["the end", letsGo.work, "ManifestWork a/b is still being deleted", true],
    [
      "the end, with more behind it",
      letsGo.work,
      "ManifestWork a/b is still being deleted now",
      false,
    ],
  ])("is recognized at %s: %#", (_, sentence, text, isThere) => {
    expect(hasSentence(text, [namespaceGoes.missing, sentence])).toBe(isThere);
  });

  test("is about the condition that it names", () => {
    const said = `A has none: ${conditionSays.of("False", "TLSUntrusted")}: https://x`;
    expect(conditionSays.wordsIn(said)).toEqual(["False", "TLSUntrusted"]);
  });
});
