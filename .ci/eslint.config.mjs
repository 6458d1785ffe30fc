import js from "@eslint/js";
import globals from "globals";

export default [
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2024, sourceType: "module", globals: globals.browser },
    rules: {
      "complexity": ["error", 15],
      "eqeqeq": "error",
      "max-len": ["error", { code: 120 }],
      "no-unused-vars": ["error", { ignoreRestSiblings: true }],
      "no-var": "error",
      "prefer-const": "error",
    },
  },
  { files: ["tests/**"], languageOptions: { globals: { ...globals.node, ...globals.browser } } },
];
