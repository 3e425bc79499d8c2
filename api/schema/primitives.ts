/** A string with a description. */
export const text = (description: string) => ({ type: "string", description }) as const;

/** A boolean with a description. */
export const flag = (description: string) => ({ type: "boolean", description }) as const;

/** A map of strings, such as labels. */
export const stringMap = { type: "object", additionalProperties: { type: "string" } } as const;

/** A list of strings. */
export const stringList = { type: "array", items: { type: "string" } } as const;

/** A list of strings that server-side apply treats as one value. */
export const atomicStringList = { ...stringList, "x-kubernetes-list-type": "atomic" } as const;

/** A whole number of 32 bits. */
export const int32 = { type: "integer", format: "int32" } as const;

/** A whole number of 64 bits. */
export const int64 = { type: "integer", format: "int64" } as const;

/** A number or a percentage. */
export const intOrString = {
  anyOf: [{ type: "integer" }, { type: "string" }],
  "x-kubernetes-int-or-string": true,
} as const;

/** A Kubernetes quantity, such as `250m` or `1Gi`; plain numbers are accepted. */
export const quantity = {
  anyOf: [{ type: "integer" }, { type: "string" }],
  pattern:
    "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$",
  "x-kubernetes-int-or-string": true,
} as const;

/** Quantities by resource name. */
export const quantityMap = { type: "object", additionalProperties: quantity } as const;

/** `metav1.LabelSelector`. */
export const labelSelector = {
  type: "object",
  "x-kubernetes-map-type": "atomic",
  properties: {
    matchExpressions: {
      type: "array",
      "x-kubernetes-list-type": "atomic",
      description: "Conditions on single labels; an object is selected when all of them hold.",
      items: {
        type: "object",
        required: ["key", "operator"],
        properties: {
          key: text("The label that is looked at."),
          operator: text("One of In, NotIn, Exists and DoesNotExist."),
          values: {
            ...atomicStringList,
            description:
              "Values for In and NotIn, at least one; must be empty for Exists and DoesNotExist.",
          },
        },
      },
    },
    matchLabels: {
      ...stringMap,
      description: "Labels and the exact values they must have; all of them must match.",
    },
  },
} as const;

/** Validation rules in CEL, each with the message of the API server when the rule fails. */
export const rules = (...pairs: readonly (readonly [rule: string, message: string])[]) =>
  pairs.map(([rule, message]) => ({ rule, message }));
