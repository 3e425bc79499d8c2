// @module-tag release-files
import { migrateStory } from "./migrate-story.ts";

// The same walk on Knative's own files.
await migrateStory();
