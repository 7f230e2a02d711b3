// Colours of the charts, read from the style sheet, so that light, dark and print need no list of their own.

const kNames = ["ink", "muted", "grid", "paper", "signal", "model", "residual", "picked"];
export const theme = {};

export function readTheme() {
  const style = getComputedStyle(document.documentElement);
  for (const name of kNames) theme[name] = style.getPropertyValue(`--${name}`).trim();
  theme.font = `12px ${style.getPropertyValue("--sans").trim()}`;
}

// Calls back when light turns dark, or the screen paper.
export function onThemeChange(listener) {
  const changed = () => {
    readTheme();
    listener();
  };
  for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", changed);
}
