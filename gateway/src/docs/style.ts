/** The style of the documents page. It contains no character that is special in HTML. */
export const style = `
:root { color-scheme: light dark; --ground: #fff; --panel: #f4f6f8; --line: #dfe4ea; --text: #1b2430; --faint: #667080; --accent: #1667b7; --warn: #8a5a00; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #0e1116; --panel: #161b22; --line: #262d37; --text: #e2e7ee; --faint: #8a94a3; --accent: #5aa7f0; --warn: #ffdf8a; }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; display: grid; grid-template-columns: minmax(14rem, 20rem) minmax(0, 1fr); background: var(--ground); color: var(--text); font: 15px/1.55 system-ui, sans-serif; }
nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 1rem 1.25rem; border-right: 1px solid var(--line); background: var(--panel); font-size: 0.9em; }
nav input { width: 100%; padding: 0.3rem 0.5rem; border: 1px solid var(--line); border-radius: 6px; background: var(--ground); color: var(--text); font: inherit; }
nav li:first-child { margin-top: 0.75rem; font-weight: 600; }
nav ul { margin: 0; padding: 0; list-style: none; }
nav li { overflow-wrap: anywhere; padding: 0.1rem 0; }
main { max-width: 70rem; padding: 1rem 2rem 6rem; }
h2 { margin-top: 2.5rem; }
h3 { margin: 2rem 0 0.5rem; overflow-wrap: anywhere; }
h4 { margin: 1.2rem 0 0.3rem; }
h5 { margin: 1rem 0 0.2rem; }
a { color: var(--accent); text-decoration: none; }
a:hover { text-decoration: underline; }
a:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
code, pre { font-family: ui-monospace, monospace; font-size: 0.92em; }
pre { overflow-x: auto; padding: 0.75rem 1rem; border: 1px solid var(--line); border-radius: 6px; background: var(--panel); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.15rem 1rem; margin: 0.5rem 0; }
dt { color: var(--faint); }
dd { margin: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin: 0.4rem 0; }
th, td { padding: 0.3rem 0.75rem 0.3rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { color: var(--faint); font-weight: 500; }
td:first-child { white-space: nowrap; }
.method { color: var(--accent); font-weight: 600; font-size: 0.85em; letter-spacing: 0.03em; }
.faint { color: var(--faint); font-size: 0.85em; }
.deprecated { padding: 0.5rem 0.75rem; border: 1px solid var(--warn); border-radius: 6px; color: var(--warn); }
@media (max-width: 800px) { body { display: block; } nav { position: static; height: auto; max-height: 50vh; } main { padding: 1rem; } }
`;
