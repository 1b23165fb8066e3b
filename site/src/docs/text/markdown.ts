/** Text of a schema as Markdown: code in backticks stays code, and nothing else becomes a mark or HTML. */
export function prose(text: string): string {
  const parts = text.split('`').map((part, at) => (at % 2 === 1 ? code(part) : escaped(part)));
  return parts.join('');
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

function escaped(text: string): string {
  return text.replaceAll(/[&<>]/g, (character) => entities[character]!).replaceAll(/[*[\]~]/g, String.raw`\$&`);
}

export const code = (text: string): string => `\`${text}\``;

/** `language`: as in the fences of Markdown. */
export const codeBlock = (language: string, text: string): string => `\`\`\`${language}\n${text}\n\`\`\``;

/** A table of Markdown; empty if it has no rows. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', String.raw`\|`)).join(' | ')} |`;
  return rows.length === 0 ? '' : [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Paragraphs, tables and blocks of code below each other; empty ones are left out. */
export const blocks = (...parts: readonly string[]): string => parts.filter((part) => part !== '').join('\n\n');
