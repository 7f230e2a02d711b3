// Builds the page into one file, dist/index.html, with its scripts and styles inside and the licences of what it bundles.
import { readFileSync } from "node:fs";
import { defineConfig } from "vite";

// The licence of a bundled package, as a comment that stays in the page.
function licence(name) {
  const text = readFileSync(new URL(`node_modules/${name}/LICENSE`, import.meta.url), "utf8");
  return `${name}\n\n${text.trim()}`.replaceAll("--", "- -");
}

function oneFile() {
  return {
    name: "one-file",
    enforce: "post",
    generateBundle(options, bundle) {
      const page = bundle["index.html"];
      let scripts = "";
      for (const [name, part] of Object.entries(bundle)) {
        if (part.type === "chunk") {
          scripts += `<script type="module">${part.code.replaceAll("</script", "<\\/script")}</script>`;
        } else if (name.endsWith(".css")) {
          page.source = page.source.replace(/<link rel="stylesheet"[^>]*>/, () => `<style>${part.source}</style>`);
        } else {
          continue;
        }
        delete bundle[name];
      }
      // The script comes after the data that it reads, at the end.
      page.source = page.source.replace(/\s*<script type="module"[^>]*src=[^>]*><\/script>/, "");
      page.source = page.source.replace("</body>", () => `${scripts}\n</body>`);
      page.source = page.source.replace("<head>", () => `<head>\n<!--\nThis page contains ${licence("uplot")}\n-->`);
    },
  };
}

export default defineConfig({
  plugins: [oneFile()],
  build: {
    target: "es2022",
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 100000,
    reportCompressedSize: false,
  },
});
