// Names that are not declared, names that nobody uses, and the slips that a syntax check lets through.
const browser = [
  "Blob", "ImageData", "ResizeObserver", "TextDecoder", "TextEncoder", "WebSocket", "XMLHttpRequest", "atob", "btoa", "clearTimeout",
  "createImageBitmap", "document", "fetch", "getComputedStyle", "history", "location", "navigator", "performance", "setTimeout",
  "structuredClone", "window",
];

export default [{
  files: ["loci_looped/app/static/*.js"],
  languageOptions: { ecmaVersion: 2022, sourceType: "module", globals: Object.fromEntries(browser.map((name) => [name, "readonly"])) },
  linterOptions: { reportUnusedDisableDirectives: "error" },
  rules: {
    "no-undef": "error", "no-unused-vars": "error", "no-const-assign": "error", "no-dupe-keys": "error", "no-dupe-class-members": "error",
    "no-unreachable": "error", "no-var": "error", "prefer-const": "error", eqeqeq: "error", "no-self-assign": "error",
    "no-shadow": "error", "no-use-before-define": ["error", { functions: false }], "no-implicit-globals": "error",
    "no-duplicate-imports": "error", "no-eval": "error", "no-fallthrough": "error", "valid-typeof": "error", "use-isnan": "error",
  },
}];
