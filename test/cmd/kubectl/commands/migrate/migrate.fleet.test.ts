import { migrateStory } from "./migrate-story.ts";

await migrateStory();
