/** A piece of HTML. Only `html` and functions that use it create it, so that all text is escaped. */
export interface Html {
  readonly html: string;
}

type Part = Html | string | number | readonly Html[];

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function textOf(part: Part): string {
  if (typeof part === 'number') return String(part);
  if (typeof part === 'string') return part.replaceAll(/[&<>"']/g, (character) => entities[character]!);
  return 'html' in part ? part.html : part.map((one) => one.html).join('');
}

/** HTML from a template; every text in it is escaped. */
export function html(parts: TemplateStringsArray, ...values: readonly Part[]): Html {
  return { html: parts.map((part, at) => part + (at < values.length ? textOf(values[at]!) : '')).join('') };
}

export const nothing: Html = { html: '' };

/** A description: `code` in backticks, paragraphs at empty lines. */
export function prose(text: string): Html {
  return {
    html: text
      .split(/\n{2,}/)
      .map((paragraph) => html`<p>${inline(paragraph)}</p>`.html)
      .join(''),
  };
}

/** One line of a description. */
export function inline(text: string): Html {
  const parts = text.split('`');
  return { html: parts.map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : html`${part}`).html).join('') };
}

/** A block of code. `language`: as in the fences of Markdown. */
export function codeBlock(language: string, text: string): Html {
  return html`<pre><code class="language-${language}">${text}</code></pre>`;
}

export function table(head: readonly string[], rows: readonly (readonly Html[])[]): Html {
  if (rows.length === 0) return nothing;
  const cells = (row: readonly Html[]): Html =>
    html`<tr>
      ${row.map((cell) => html`<td>${cell}</td>`)}
    </tr>`;
  return html`<div class="wide">
    <table>
      <thead>
        <tr>
          ${head.map((name) => html`<th>${name}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(cells)}
      </tbody>
    </table>
  </div>`;
}
