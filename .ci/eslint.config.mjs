import js from "@eslint/js";
import globals from "globals";

export default [
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2024, sourceType: "module", globals: globals.browser },
    rules: {
      "complexity": ["error", 22],
      "eqeqeq": "error",
      "max-len": ["error", { code: 120 }],
      "no-unused-vars": ["error", { ignoreRestSiblings: true }],
      "no-var": "error",
      "prefer-const": "error",
    },
  },
  // One method there spells out the formula of every kind of step, a line each.
  { files: ["pages/attention/steps.js"], rules: { "complexity": ["error", 40] } },
  { files: ["tests/**"], languageOptions: { globals: { ...globals.node, ...globals.browser } } },
];
