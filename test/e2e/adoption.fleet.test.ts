import { adoptionStory } from "./adoption-story.ts";

adoptionStory();
