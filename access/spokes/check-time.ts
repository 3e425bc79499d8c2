// Ten seconds in two questions, in either order, say that a server is away.
const shortMs = 3_000;
const longMs = 7_000;
// As long as any request may take: a server that takes five seconds for each answer (C10) is slow, not away.
const patientMs = 10_000;

/**
 * How long a server has to answer when it is asked whether it is there, in ms: a short question first after trouble, a long one first after silence,
 * and from the third on as long as it may take for anything.
 */
export function checkTimeMs(isQuiet: boolean, failures: number): number {
  if (failures > 1) return patientMs;
  return isQuiet === (failures === 0) ? longMs : shortMs;
}
