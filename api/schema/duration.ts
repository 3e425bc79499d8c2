/** A duration of Go: hours, minutes and seconds. */
export const duration = (description: string) =>
  ({ type: "string", pattern: "^([0-9]+(h|m|s))+$", maxLength: 32, description }) as const;
