// Answers on the spot: a page without Python answers the questions itself that a component asks of a route in the app.

let own = null;

/** From here on the page answers every question by this function: from the question to the fields of its answer.
    @param {(question: any) => any} answer */
export function answerHere(answer) { own = answer; }

/** A promise of the page's own answer; null where a server answers. @param {any} question
    @returns {Promise<any> | null} */
export const answered = (question) => own && Promise.resolve(question).then(own);
