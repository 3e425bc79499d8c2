// @module-tag release-files
import { adoptionStory } from "./adoption-story.ts";

// The same tests on Knative's own files: an adoption reads and rewrites each object, and only Knative's objects show that it loses none of their fields.
adoptionStory();
