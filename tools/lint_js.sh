#!/usr/bin/env bash
# The lab's JavaScript: syntax with node, slips with eslint. What is missing on this machine is said, and not fatal.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v node >/dev/null; then
  echo "JavaScript is not checked: node is not installed here."
  exit 0
fi
for file in loci_looped/app/static/*.js; do node --check "$file"; done
if [ ! -x node_modules/.bin/eslint ] && command -v npm >/dev/null; then
  timeout 120 npm ci --silent --no-audit --no-fund >/dev/null 2>&1 || true
fi
if node_modules/.bin/eslint --version >/dev/null 2>&1; then
  node_modules/.bin/eslint loci_looped/app/static
  echo "All JavaScript checks passed."
else
  echo "JavaScript: only the syntax is checked; eslint could not be installed here."
fi
