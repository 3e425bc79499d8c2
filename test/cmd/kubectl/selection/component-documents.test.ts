import { describe, expect, test } from "vitest";

import {
  componentDocuments,
  componentCheck,
} from "../../../../cmd/kubectl/selection/component-documents.ts";
import { InputError, yamlDocuments } from "../../../../cmd/kubectl/selection/yaml-documents.ts";

const check = componentCheck();
const serving = "apiVersion: operator.knative.dev/v1beta1\nkind: KnativeServing\n";

function read(text: string, namespace?: string) {
  return componentDocuments(yamlDocuments(text, "a.yaml"), { namespace, check });
}

function problemsOf(text: string, namespace?: string): readonly string[] {
  try {
    read(text, namespace);
  } catch (error) {
    if (error instanceof InputError) return error.problems;
    throw error;
  }
  return [];
}

describe("the components of a file", () => {
  test("are found among other objects, which are noted", () => {
    const namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n";
    const found = read(`${namespace}---\n${serving}metadata: {name: s, namespace: a}\n`);
    expect(found.components).toMatchObject([
      {
        where: "a.yaml, document 2",
        component: { metadata: { name: "s", namespace: "a", uid: "" } },
      },
    ]);
    expect(found.notes).toEqual(["a.yaml, document 1: Namespace is no component and was left out"]);
  });

  test("get the namespace of the command line when they name none", () => {
    const { components } = read(`${serving}metadata: {name: s}\n`, "b");
    expect(components[0]?.component.metadata.namespace).toBe("b");
  });

  test.each([
    {
      name: "no namespace",
      text: `${serving}metadata: {name: s}`,
      says: ["a.yaml: metadata.namespace: is required, here or with -n"],
    },
    {
      name: "another namespace than the command line",
      text: `${serving}metadata: {name: s, namespace: a}`,
      namespace: "b",
      says: ["a.yaml: metadata.namespace: is a, but the command line says b"],
    },
    { name: "no metadata", text: serving, says: ["a.yaml: metadata: is required"] },
    {
      name: "no name",
      text: `${serving}metadata: {namespace: a}`,
      says: ["a.yaml: metadata.name: is required"],
    },
    {
      name: "another version of the API",
      text: "apiVersion: operator.knative.dev/v1alpha1\nkind: KnativeServing\nmetadata: {name: s, namespace: a}",
      says: ["a.yaml: apiVersion: must be operator.knative.dev/v1beta1"],
    },
    {
      name: "a misspelt kind",
      text: "apiVersion: operator.knative.dev/v1beta1\nkind: KnativeServin",
      says: ["a.yaml: kind: must be KnativeServing or KnativeEventing"],
    },
    { name: "no object", text: "text", says: ["a.yaml: document: must be object"] },
    {
      name: "several wrong documents",
      text: `${serving}metadata: {name: s}\n---\n- 1\n`,
      says: [
        "a.yaml, document 1: metadata.namespace: is required, here or with -n",
        "a.yaml, document 2: document: must be object",
      ],
    },
  ])("with $name are refused", ({ text, namespace, says }) => {
    expect(problemsOf(text, namespace)).toEqual(says);
  });
});
