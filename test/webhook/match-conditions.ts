/** The matchConditions of components and sets; a test compares the chart with them. */
export const matchConditions = [
  {
    name: "stays-or-changes",
    expression:
      "!has(object.metadata.deletionTimestamp) || has(object.spec) != has(oldObject.spec) || " +
      "(has(object.spec) && object.spec != oldObject.spec)",
  },
] as const;
