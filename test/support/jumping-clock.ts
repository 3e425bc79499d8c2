/** Preloaded into a process whose monotonic clock is to jump: it is four minutes ahead from each SIGUSR2 on. */
const jumpMs = 240_000;
const now = performance.now.bind(performance);
let aheadMs = 0;

performance.now = () => now() + aheadMs;
process.on("SIGUSR2", () => {
  aheadMs += jumpMs;
});
