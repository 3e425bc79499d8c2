import { labelSelector, rules, text } from "./primitives.ts";

const propertyRequirement = {
  type: "object",
  required: ["name", "operator"],
  "x-kubernetes-validations": rules([
    "self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : !has(self.values) || size(self.values) == 0",
    "In and NotIn need values; Exists and DoesNotExist have none",
  ]),
  properties: {
    name: { ...text("Name of the property."), minLength: 1, maxLength: 253 },
    operator: {
      type: "string",
      enum: ["In", "NotIn", "Exists", "DoesNotExist"],
      description:
        "How the value is compared. A missing property never matches In, and always matches NotIn.",
    },
    values: {
      type: "array",
      maxItems: 32,
      items: { type: "string", maxLength: 1024 },
      "x-kubernetes-list-type": "atomic",
      description: "Values for In and NotIn, at least one; none for Exists and DoesNotExist.",
    },
  },
} as const;

/** Selects ClusterProfiles by their labels and their properties. */
export const profileSelector = {
  ...labelSelector,
  properties: {
    ...labelSelector.properties,
    matchProperties: {
      type: "array",
      maxItems: 32,
      items: propertyRequirement,
      "x-kubernetes-list-type": "atomic",
      description: "Conditions on status.properties; all of them must hold.",
    },
  },
} as const;
