// The panel's messages in a file of its own, made beside the page.
import { serve } from "../../../core/components/engine/service.js";
import { message } from "./message.js";

serve({ message, decoded: ({ tokenizer }, ids) => tokenizer.decode(ids) });
