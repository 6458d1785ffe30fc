// The map's messages and answers in a file of its own, made beside the page: what Python sends in the app.
import { serve } from "../../../core/components/engine/service.js";
import { edited } from "./edit.js";
import { answer } from "./inside.js";
import { message } from "./message.js";

serve({
  message: ({ model, tokenizer, words, idsOf, passOf }, settings) =>
    message(model, tokenizer, idsOf(settings.prompt), settings, words, passOf),
  answer({ model, tokenizer, passOf }, { ids: plain, edit, place }) {
    const { ids, change } = edited(model, plain, edit);
    return answer(model, tokenizer, passOf(ids, change), change, place);
  },
  decoded: ({ tokenizer }, ids) => tokenizer.decode(ids),
});
