import { isKubeObject } from "../../../access/kube/api-answer.ts";
import type { RecordedTable } from "./bundle.ts";
import { firstWrong, schemaOf } from "./document-check.ts";

const text = { type: "string" };
const texts = { type: "array", items: text };
const labels = { type: "object", additionalProperties: text };
// Servers write null for a time that is not set.
const time = { type: ["string", "null"] };

/** The form of the objects of one kind in a bundle. Fields that no command reads may be anything. */
const tableSchema = {
  type: "object",
  required: ["kind", "columns", "rows", "unread"],
  properties: {
    kind: {
      type: "object",
      required: ["apiVersion", "kind", "plural", "words", "categories"],
      properties: {
        apiVersion: text,
        group: text,
        kind: text,
        plural: text,
        namespaced: { type: "boolean" },
        words: texts,
        categories: texts,
      },
    },
    columns: {
      type: "array",
      items: {
        type: "object",
        required: ["name", "priority"],
        properties: { name: text, priority: { type: "number" } },
      },
    },
    rows: {
      type: "array",
      items: {
        type: "object",
        required: ["object", "cells"],
        properties: {
          cells: { type: "array" },
          object: {
            type: "object",
            required: ["metadata"],
            properties: {
              metadata: {
                type: "object",
                required: ["name", "uid"],
                properties: {
                  creationTimestamp: time,
                  deletionTimestamp: time,
                  labels,
                  annotations: labels,
                  finalizers: texts,
                },
              },
            },
          },
        },
      },
    },
    unread: {
      type: "array",
      items: {
        type: "object",
        required: ["namespace", "status", "message"],
        properties: {
          namespace: { type: ["string", "null"] },
          status: { type: "integer" },
          message: text,
        },
      },
    },
  },
};

/** A file of a bundle with objects: a table, or what is wrong with it. */
type CheckedTable = { readonly table: RecordedTable } | { readonly wrong: string };

/** Checks files of a bundle that hold objects. */
export function tableChecker(): (value: unknown) => CheckedTable {
  const isTable = schemaOf<RecordedTable>(tableSchema);
  return (value) => {
    if (!isTable(value)) return { wrong: firstWrong(isTable.errors) };
    const { apiVersion, kind } = value.kind;
    const at = value.rows.findIndex(({ object }) => !isKubeObject({ ...object, apiVersion, kind }));
    if (at < 0) return { table: value };
    return { wrong: `/rows/${at}/object/metadata is of no object of an API server` };
  };
}
